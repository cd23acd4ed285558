//! The programs on a node beside the agent, and the files that they share with it.
//!
//! - [`commands`] (IO) are the commands `usnet node …` for users on the node.
//! - [`garbage`] (IO) removes what no living pod of the node owns.
//! - [`attach`] (IO) runs the CNI plugin on request of the agent.
//! - [`checksums`] (IO) has pods leave checksums to the switch where that completes them.
//! - [`install_plugin`] (IO) installs the CNI plugin.
//! - [`legacy_pods`] (IO) are pods that Intel's userspace CNI attached.
//! - [`state_file`] and [`history_file`] (IO) are files that the agent writes; [`problem`] is the
//!   part of the state file about manifests.
//! - [`ports`] (IO) reads the traffic of pods.

pub mod attach;
pub mod checksums;
pub mod commands;
pub mod garbage;
pub mod history_file;
pub mod install_plugin;
pub mod legacy_pods;
pub mod ports;
pub mod problem;
pub mod state_file;
