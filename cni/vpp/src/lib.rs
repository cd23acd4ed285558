//! A client of VPP's binary API over its unix socket.
//!
//! The wire format, the messages, batches and answers are pure. Two clients do the IO:
//! [`blocking::Client`] without a runtime, for short-lived programs, and with the feature `async`
//! [`asynchronous::Session`], a long-lived session with automatic reconnect that counts interface
//! events. Code for both takes an [`Api`].
//!
//! Pitfalls, and where they are handled:
//! - Message ids change with each start of VPP: they are read again with each connection.
//! - VPP does not reply to messages that it does not know: every wait has a timeout, and messages
//!   that VPP lacks are never sent.
//! - A missing plugin and an old VPP look alike: [`Error::Unsupported`] distinguishes them.
//! - Events arrive between replies: they are distinguished by their id.
//! - The end of file of a client's socket can hang VPP: each working connection ends with an
//!   orderly shutdown.
//! - A message may contain a secret: no type with encoded requests prints them.

mod answers;
mod api;
#[cfg(feature = "async")]
pub mod asynchronous;
mod batch;
pub mod blocking;
mod endpoint;
mod error;
pub mod messages;
mod return_code;
mod shutdown;
pub mod wire;

pub use answers::{Answers, ReplyError};
pub use api::Api;
pub use batch::{Batch, DumpTicket, Ticket};
pub use error::{Error, ProtocolError, Remedy};
pub use messages::{Descriptor, Dump, Message, Reply, Request};
pub use return_code::ReturnCode;
