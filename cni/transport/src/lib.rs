//! What the clients of Open vSwitch (`usnet-ovsdb`) and VPP (`usnet-vpp`) share: bytes between a
//! [`Protocol`] and a unix socket, without knowing what they mean.
//!
//! - [`Protocol`] and [`Outgoing`]: the end of a connection, without IO.
//! - [`blocking`]: a socket in which each wait has a deadline. IO, and no runtime: the CNI plugin
//!   uses nothing else.
//! - [`asynchronous`] (feature `async`): the same socket on tokio, and the parts of a long-lived
//!   session: its callers, its task, and the back-off between two connections.
//!
//! Both sockets read while they write: a server may stop reading while its answers are not read.

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod blocking;
mod error;
mod protocol;

pub use error::TransferError;
pub use protocol::{Outgoing, Protocol};
