//! What both clients can do.

use crate::{Answers, Batch, Error, Message};

/// A VPP that executes requests: a blocking client, or the handle of a session.
pub trait Api {
    /// Sends all requests of the batch and reads all answers, within a time that the implementation
    /// limits.
    ///
    /// A rejected request is no error here: see [`Answers::reply`]. If VPP lacks a message of the
    /// batch, nothing is sent. The future of [`blocking::Client`](crate::blocking::Client) is ready
    /// at the first poll.
    fn send(&mut self, batch: &Batch) -> impl Future<Output = Result<Answers, Error>> + Send;

    /// Whether VPP knows the message, as of the last connection. If not, an older one may be used.
    fn supports<M: Message>(&self) -> bool;
}
