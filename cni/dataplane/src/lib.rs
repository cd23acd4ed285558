//! What a node should have, what it has, and the way from one to the other.
//!
//! [`desired`] and [`observed`] are values; [`plan::plan`] compares them and gives operations, without any IO; an [`engine::Engine`] reads the one and
//! carries out the other. The [`journal`] remembers which pods are attached, and [`network_file`] tells the plugin what it may attach to.

pub mod attachment;
pub mod configuration_data;
pub mod desired;
pub mod difference;
pub mod document;
pub mod engine;
pub mod journal;
mod lock;
pub mod memif;
pub mod network_file;
pub mod node_file;
pub mod observed;
pub mod older_port;
pub mod ovs;
pub mod plan;
pub mod port;
pub mod ready;
pub mod roots;
pub mod shared_dirs;
#[cfg(test)]
mod testing;
pub mod vpp;
