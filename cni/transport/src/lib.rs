//! The transport of the clients of Open vSwitch (`usnet-ovsdb`) and VPP (`usnet-vpp`): bytes
//! between a [`Protocol`] and a unix socket, whatever they mean.
//!
//! - [`Protocol`] and [`Outgoing`]: the client's end of a connection, without IO.
//! - [`blocking`]: a socket in which each wait has a deadline. It does IO without a runtime: the
//!   CNI plugin uses nothing else.
//! - [`asynchronous`] (feature `async`): a long-lived session on tokio that reconnects.
//!
//! All sockets read while they write: a server may stop reading while its answers are not read.

#[cfg(feature = "async")]
pub mod asynchronous;
pub mod blocking;
mod error;
mod protocol;

pub use error::TransferError;
pub use protocol::{Outgoing, Protocol};
