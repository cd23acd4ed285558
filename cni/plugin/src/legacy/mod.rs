//! Compatibility with Intel's userspace CNI ("legacy"): its sockets and files in the pod, the
//! `sharedDir` of its configurations, and the pods that it attached before its program was replaced
//! by this one.

pub mod handoff;
pub mod shared_dir;
pub mod state;
