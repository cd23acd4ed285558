//! What several programs of the operator use.
//!
//! - [`api`] (IO): the API server;
//! - `telemetry` (feature, IO): metrics and health;
//! - [`display`]: texts for users; [`redact`]: texts without secrets;
//! - [`release`]: which build it is;
//! - [`backoff`], [`channels`], [`shares`], [`token_bucket`]: waits, channels, queues and rates.

pub mod api;
pub mod backoff;
pub mod channels;
pub mod display;
pub mod redact;
pub mod release;
pub mod shares;
#[cfg(feature = "telemetry")]
pub mod telemetry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod token_bucket;
