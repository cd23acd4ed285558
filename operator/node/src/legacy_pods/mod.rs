//! Pods that Intel's userspace CNI ("the legacy plugin") attached before its program was replaced.
//! The agent takes them over: it makes records of what that plugin and its caller left on the node.
//!
//! 1. [`files`] (IO) reads the state files of the legacy plugin, and what libcni, the library of
//!    Multus and container runtimes, keeps of each call. Links are not followed, and neither sizes
//!    nor numbers are unbounded.
//! 2. [`cached_call`] is one such call. Pure.
//! 3. [`interface`] puts both together: an interface of a pod. Pure, but for the inode of its
//!    network namespace.
//! 4. [`mod@record`] makes the record, once the engine shows the port. Pure.
//!
//! State files are read only. DEL removes each with its record, so that until then a node can be
//! switched back to the legacy plugin.

mod cached_call;
mod files;
mod interface;
mod problem;
mod record;
#[cfg(test)]
mod tests;

pub use files::{LegacyPods, is_there, last_changes, read};
pub use interface::LegacyInterface;
pub use problem::Problem;
pub use record::{FoundPort, NotFitting, record};
