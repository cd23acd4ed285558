//! A real Kubernetes control plane, the runtime of the nodes, and usnet installed in it.

pub mod audit;
pub mod certificates;
pub mod containerd;
pub mod control_plane;
pub mod images;
pub mod install;
pub mod kubectl;
pub mod kubelet;
