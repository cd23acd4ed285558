//! `UserspaceEngine`: an engine that usnet runs on the nodes which it selects.
//!
//! - [`spec`]: what users write, and its rules in CEL; [`mod@validate`]: the same rules in Rust;
//! - [`types`]: sizes of memory and lists of CPUs; [`problem`]: what is wrong with a spec;
//! - [`preparation`]: what an administrator has to do on a node for it;
//! - [`status`]: what the controller of engines reports;
//! - [`supervisor_report`]: the file by which the engine's pod tells the agent of its node how the
//!   engine is.

#[cfg(feature = "api")]
pub mod preparation;
#[cfg(feature = "api")]
pub mod problem;
#[cfg(feature = "api")]
pub mod spec;
#[cfg(feature = "api")]
pub mod status;
pub mod supervisor_report;
#[cfg(feature = "api")]
pub mod types;
#[cfg(feature = "api")]
pub mod validate;

/// The namespace of the engines' pods and of their controller.
pub const NAMESPACE: &str = "usnet-engines";
