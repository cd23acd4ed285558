//! The nodes: namespaces on this machine, connected by bridges.

pub mod fabric;
pub mod node;
pub mod pod_network;
pub(crate) mod programs;
