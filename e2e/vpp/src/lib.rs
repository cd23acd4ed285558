//! A VPP for one test in a folder of its own: a real one, or a [simulator] of its binary API.
//!
//! The simulator is trusted only as far as the tests of this crate (`tests/behaviour`) pass on a
//! real VPP as well: they run the same checks on both. A real VPP is the one that `USNET_VPP` names
//! or that is on `PATH`; it needs root, and neither huge pages nor network devices. It ends when
//! [`Vpp`] is dropped, and also when the test is killed with `kill -9`: its parent process waits
//! for the end of a pipe that only the test holds.

mod builder;
mod configuration;
mod error;
mod instance;
mod kind;
mod process;
pub mod simulator;

pub use builder::Builder;
pub use configuration::plugin_folder;
pub use error::Error;
pub use instance::Vpp;
pub use kind::{Kind, PROGRAM_VARIABLE, program};
pub use simulator::{Breakage, Fault, LogEntry, Moment, Simulator};
