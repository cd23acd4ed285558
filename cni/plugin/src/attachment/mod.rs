//! The steps of ADD and of DEL. [`attach`] and [`detach`] run them in order.
//!
//! Before the first step, ADD checks and determines, without a change to the node:
//!
//! 1. [`admission`]: whether the pod may attach now. IO: reads the network files.
//! 2. [`request`]: the request of the pod, and of `spec.attachments` for it. IO: reads kubelet's
//!    checkpoint.
//! 3. [`port`]: the port for the engine. IO: random bytes.
//!
//! The steps, each with IO:
//!
//! 1. [`node`]: the journal's record, which is written first and updated or removed last.
//!    `synced` tells whether it has to be on disk.
//! 2. [`ipam`]: runs the IPAM plugin.
//! 3. [`pod_directory`]: mounts the folder that the pod shares with the engine.
//! 4. [`interface`]: creates the veth pair.
//! 5. [`engine`]: creates the port.
//! 6. [`server_socket`]: brings the socket of an engine that listens elsewhere to the pod.
//! 7. [`pod_files`]: the files that describe the interface for the pod's program.

pub mod admission;
pub mod attach;
pub mod detach;
pub mod engine;
pub mod interface;
pub mod ipam;
pub mod node;
pub mod pod_directory;
pub mod pod_files;
pub mod port;
pub mod request;
pub mod server_socket;
mod synced;
