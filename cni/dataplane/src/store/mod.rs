//! The files of usnet on a node. All of them are JSON, written atomically and with a version.
//!
//! [`paths`] says where they are. [`journal`] is written by the plugin and the agent, under locks;
//! [`network_file`], [`unselected`], [`shared_dirs`] and [`definition_ipam`] by the agent for the
//! plugin; [`node_file`], [`nic_offloads`] and [`bound_nics`] by the agent for itself; [`call_log`]
//! by the plugin for users; [`claim_records`] by the agent; [`sandboxes`] by the plugin for the
//! agent.
//! [`network_namespace`] tells whether the sandbox of a record still exists.

pub mod atomic_file;
pub mod bound_nics;
pub mod call_log;
pub mod claim_records;
pub mod definition_ipam;
pub mod journal;
pub mod locks;
pub mod network_file;
pub mod network_namespace;
pub mod nic_offloads;
pub mod node_file;
pub mod paths;
pub mod sandboxes;
pub mod shared_dirs;
pub mod unselected;
