//! Garbage collection: removes what no living pod of the node owns, because there may never be a
//! DEL for it, for example for hot-plugged interfaces, pods that were deleted by force, or after a
//! failure of the runtime.
//!
//! It is a process of its own beside the agent: unmounting and IPAM plugins need privileges and
//! folders that an agent, which serves the network, should not have. In one pass:
//!
//! 1. [`collector`] (IO) finds attachments whose network namespace is gone, and folders without an
//!    attachment.
//! 2. [`grace`] keeps each of them for some time: a runtime removes the namespace first and calls
//!    DEL afterwards. Pure.
//! 3. [`collector`] (IO) locks each attachment as a DEL does, reads its record again, and performs
//!    the steps of a DEL ([`usnet_plugin::attachment::detach`]). If this process cannot reach the
//!    engine, it leaves the port to the agent.
//! 4. [`report`] (IO) appends what was done to a file, from which the agent counts and `usnet node
//!    history` prints.
//!
//! Because the process may mount, it also serves [`device_mounts`] (IO), and because it may enter
//! the network namespaces of pods, it also runs [`checksums`](crate::checksums).

mod collector;
pub mod device_mounts;
mod grace;
pub(crate) mod report;
mod run;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use run::{Error, Options, run};
