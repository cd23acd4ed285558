//! The API server, as the controller and the agent use it.
//!
//! - [`client`]: the client (IO);
//! - [`error`]: its errors, for users and for retries;
//! - [`partial_object`]: objects of which only the used fields are deserialized;
//! - [`watch`](mod@watch) (IO): watches that recover from any failure.

pub mod client;
pub(crate) mod error;
pub(crate) mod partial_object;
pub(crate) mod watch;
