//! The node itself in a network: a veth pair whose one end is a port of the network's bridge, and
//! whose other end has addresses of the node. So kubelet reaches pods whose only network it is, and
//! Services and host ports lead there.
//!
//! Only the node opens connections, never a pod: rules of nftables admit what belongs to
//! connections of the node, and what the node forwards only after a Service or host port has
//! translated it. What is forwarded gets the node's address, so that pods need no route.
//!
//! - `model`: what should exist and what exists. No IO.
//! - `plan`: the operations between both, and what blocks them. No IO.
//! - `rules`: the rules. No IO.
//! - [`KernelNodeAccess`]: the rules that the kernel has (IO).

mod kernel;
mod model;
mod plan;
mod rules;
#[cfg(test)]
mod tests;

pub use kernel::KernelNodeAccess;
pub use model::{DesiredNodeAccess, NodeAccesses, ObservedNodeAccess, Route};
pub use plan::{NodeAccessBlocker, NodeAccessOp, blockers, diff, joinable};
