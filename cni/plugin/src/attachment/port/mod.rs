//! The port of an interface: the spec of the network, converted for the engine. It is fully
//! validated here, before anything is changed.
//!
//! [`port()`] is the complete port. `backend` and [`pod_endpoint`] distinguish the port types: what
//! the engine creates, and what the pod's program needs to know. A new port type is one arm in each
//! function of these two files. No IO, except for the random bytes of a secret.

mod attached_port;
mod backend;
mod error;
mod memif;
pub mod pod_endpoint;
#[cfg(test)]
mod tests;

pub use attached_port::{check_socket_conflict, needs_volume, port};
pub use backend::SocketLocation;
pub use error::PortError;
