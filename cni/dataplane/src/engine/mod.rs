//! Engines: the software switches of a node.
//!
//! [`EngineDriver`] is the trait of their drivers, [`ovs`] and [`vpp`] implement it; a
//! [`BlockingDriver`] is one for programs without an async runtime. Both folders have the
//! same files: `driver` (the trait's implementation), `snapshot` (what is read), `observe` (from a
//! snapshot to the observed state), `plan_op` (what has to be done for one operation), `apply` (how
//! it is done), `bridge_settings`, `ports`, `qos` and `tags`.

mod blocking;
mod committed;
mod driver;
mod error;
mod guard_identity;
pub mod ovs;
pub mod policy_subjects;
pub mod vpp;

pub use blocking::{BlockingDriver, NeverWaits};
pub use committed::Committed;
pub use driver::EngineDriver;
pub use error::{EngineError, OpError, TagTooLong};
