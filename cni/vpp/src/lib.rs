//! A client of VPP's binary API over its unix socket.
//!
//! The wire format, the messages, batches and answers are pure. Two edges do the IO: [`blocking::Client`] without a
//! runtime, for a program that lives for milliseconds, and with the feature `async` [`asynchronous::Session`], which
//! reconnects for ever and counts the changes of interfaces. Code for both takes an [`Api`].
//!
//! What bites, and where it is dealt with:
//! - Ids of messages differ from start to start: they are read anew with each connection.
//! - VPP does not answer what it does not understand: every wait has an end, and what VPP does not know is never sent.
//! - A plugin that is not loaded and a VPP that is too old look alike: [`Error::Unsupported`] tells them apart.
//! - Events come between replies: they are told from them by their id.
//! - The end of a client's socket can stop VPP for good: each connection that works ends with a goodbye.
//! - A message may hold a secret: nothing that holds encoded requests prints them.

mod answers;
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
pub use batch::{Batch, DumpTicket, Ticket};
pub use endpoint::ProtocolError;
pub use error::{Error, Remedy};
pub use messages::{Descriptor, Dump, Message, Reply, Request};
pub use return_code::ReturnCode;

/// A VPP that does requests: a blocking client, or the handle of a session.
pub trait Api {
    /// Sends all requests of the batch and reads all answers, within a time that the implementation limits.
    ///
    /// A request that VPP refuses is no error here: see [`Answers::reply`]. If VPP lacks a message of the batch, nothing
    /// is sent. The future of [`blocking::Client`] is ready when it is polled first.
    fn send(&mut self, batch: &Batch) -> impl Future<Output = Result<Answers, Error>> + Send;

    /// Whether VPP knows the message, as far as the last connection told. If not, an older one may do.
    fn supports<M: Message>(&self) -> bool;
}
