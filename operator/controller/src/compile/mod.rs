//! Compile (pure): from the specs of users to what is desired. Each network is compiled
//! independently: from its spec, its VNI and the namespaces of the cluster, and from nothing of any
//! node, so that the result does not depend on the order of events.
//!
//! - [`Stage`]: the lifecycle stage of a network, which decides what of it is compiled;
//! - [`network`]: the CompiledNetwork, which all nodes read;
//! - [`nads`]: its NetworkAttachmentDefinitions;
//! - [`nodes`]: the specs of UserspaceNodeStates;
//! - [`slices`]: the addresses of nodes, for overlays;
//! - [`uplinks`]: the finalizers of uplinks;
//! - [`attachments`]: the nodes of attachments, their finalizers and owners.
//!
//! Rejecting a network changes nothing: nodes keep the last compiled spec, so that a bad edit never
//! interrupts traffic.

pub mod attachments;
pub mod nads;
pub mod network;
pub mod nodes;
pub mod slices;
mod stage;
pub mod uplinks;

pub use stage::Stage;
