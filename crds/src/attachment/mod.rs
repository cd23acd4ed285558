//! `UserspaceAttachment`: an interface of a running pod, which is attached while the object exists.
//!
//! - [`spec`]: what users write, and its rules in CEL; [`mod@validate`]: the same rules in Rust;
//! - [`status`]: what the controller reports;
//! - [`node`]: what it requests of the pod's node, and what the agent there reports.

pub mod node;
pub mod spec;
pub mod status;
pub mod validate;
