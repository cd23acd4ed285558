//! Engines: the software switches of a node.
//!
//! [`Engine`] is the trait of their drivers, [`ovs`] and [`vpp`] implement it. Both folders have the
//! same files: `driver` (the trait's implementation), `snapshot` (what is read), `observe` (from a
//! snapshot to the observed state), `plan_op` (what has to be done for one operation), `apply` (how
//! it is done), `settings`, `qos`, `tags` and `legacy`.

mod driver;
mod error;
pub mod ovs;
pub mod poll_once;
pub mod vpp;

pub use driver::Engine;
pub use error::{EngineError, OpError};
