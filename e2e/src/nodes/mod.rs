//! The nodes: namespaces on this machine, joined by a bridge.

pub mod fabric;
pub mod node;
pub mod pod_network;
pub(crate) mod programs;
