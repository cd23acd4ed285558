//! A world: a whole Kubernetes cluster with Open vSwitch and VPP in one process tree, in namespaces of its own.
//!
//! ```text
//! launcher    what the caller started; outside of the namespaces          launcher.rs
//! ├─ janitor  removes control groups and folder at the launcher's end     janitor.rs
//! └─ init     first process of the pid namespace: ends, and all end       init.rs
//!    └─ orchestrator  starts everything, then the user's command          orchestrator.rs
//!       ├─ etcd, kube-apiserver, ...                                      control_plane.rs
//!       └─ a holder for each node's namespaces                            node.rs
//!          └─ containerd, kubelet, Open vSwitch, VPP                      node_programs.rs
//! ```

pub mod addresses;
pub mod archive;
pub mod arguments;
pub mod audit;
pub mod certificates;
pub mod cgroups;
pub mod command;
pub mod component;
pub mod containerd;
pub mod control;
pub mod control_plane;
pub mod engines;
pub mod fabric;
pub mod failure;
pub mod folder;
pub mod images;
pub mod init;
pub mod install;
pub mod janitor;
pub mod kubectl;
pub mod kubelet;
pub mod launcher;
pub mod libraries;
pub mod namespaces;
pub mod node;
mod node_programs;
pub mod openvswitch;
pub mod orchestrator;
pub mod pod_network;
pub mod probes;
pub mod progress;
pub mod requirements;
pub mod rights;
pub mod roles;
pub mod settings;
pub mod user_command;
pub mod vpp;
pub mod wait;
