//! A test bed: a whole Kubernetes cluster with Open vSwitch and VPP in one process tree and
//! separate namespaces. `e2e/world` starts it.
//!
//! ```text
//! launcher    started by the caller, outside of the namespaces        processes/launcher.rs
//! ├─ janitor  removes control groups and folder at the launcher's end processes/janitor.rs
//! └─ init     first process of the pid namespace, ends all others     processes/init.rs
//!    └─ orchestrator  starts everything, then the user's command      processes/orchestrator.rs
//!       ├─ etcd, kube-apiserver, ...                                  kubernetes/control_plane.rs
//!       └─ a holder of the namespaces of each node                    nodes/node.rs
//!          └─ containerd, kubelet, Open vSwitch, VPP                  nodes/programs.rs
//! ```

pub mod engines;
pub mod host;
pub mod kubernetes;
pub mod machines;
pub mod nodes;
pub mod processes;
pub mod rights;
pub mod testbed;
