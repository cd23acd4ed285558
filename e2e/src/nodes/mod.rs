//! The nodes: namespaces on this machine, or virtual machines, connected by bridges.

mod api_proxy;
pub mod fabric;
pub mod guest;
pub mod node;
pub mod pod_network;
pub(crate) mod programs;
