//! Garbage collection: what no living pod of the node owns is removed, because no DEL may ever come
//! for it. Hot-plugged interfaces, pods that were deleted by force, runtimes that forget.
//!
//! A process of its own beside the agent: unmounting and IPAM plugins need privileges and folders
//! that an agent, which serves the network, should not have. In one pass:
//!
//! 1. [`collector`] (IO) finds attachments whose network namespace is gone, and folders that no
//!    attachment has.
//! 2. [`grace`] holds each of them back for some time: a runtime removes the namespace first and
//!    calls DEL afterwards. Pure.
//! 3. [`collector`] (IO) locks each attachment as a DEL does, reads its record again, and takes the
//!    steps of a DEL ([`usnet_plugin::attachment::detach`]). The engine's port is left to the agent
//!    where this process cannot reach the engine.
//! 4. [`report`] (IO) appends what was done to a file, from which the agent counts
//!    ([`crate::agent`]) and `usnet node history` prints.
//!
//! Because it may mount, it also serves [`device_mounts`] (IO).

mod collector;
pub mod device_mounts;
mod grace;
pub(crate) mod report;
mod run;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use run::{Error, Options, run};
