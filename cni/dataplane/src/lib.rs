//! The desired and the observed state of a node's engines, and the operations in between.
//!
//! [`desired`] and [`observed`] are values; [`plan::plan`] compares them and returns operations,
//! without any IO; an [`engine::Engine`] observes and applies. The [`journal`] records which pods
//! are attached, and [`network_file`] tells the plugin which networks are available.

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
