//! What a node should have, what it has, and the way from one to the other.
//!
//! [`desired`] and [`observed`] are values; [`plan::plan`] compares them and gives operations, without any IO; an [`engine::Engine`] reads the one and
//! carries out the other. The [`journal`] remembers which pods are attached, and [`network_file`] tells the plugin what it may attach to.

pub mod atomic_file;
pub mod attachment;
pub mod desired;
pub mod drift;
pub mod engine;
pub mod journal;
pub mod legacy_annotation;
pub mod legacy_port;
mod lock;
pub mod memif;
pub mod network_file;
pub mod node_file;
pub mod observed;
pub mod ovs;
pub mod paths;
pub mod plan;
pub mod poll_once;
pub mod port;
pub mod shared_dirs;
#[cfg(test)]
mod testing;
pub mod vpp;
