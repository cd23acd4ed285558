//! Pods that the legacy plugin attached before its program was replaced by this one. It kept a
//! state file for each interface, and DEL removes the port and the files that the state file and
//! the configuration describe.
//!
//! Each step is idempotent and the state file is removed last, so that a repeated DEL finds it. An
//! unreachable engine makes DEL fail: there is no record by which the agent could remove the port
//! later. A bridge is never removed.

mod error;
mod folders;
mod state_file;

pub use error::LegacyStateError;
pub use state_file::LegacyState;
