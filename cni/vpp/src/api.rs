//! The interface of both clients.

use crate::{Answers, Batch, Error, Message};

/// A VPP that executes requests: a blocking client, or the handle of a session.
pub trait Api {
    /// Sends all requests of the batch and reads all answers. The implementation limits the time.
    ///
    /// A refused request is not an error here: see [`Answers::reply`]. If VPP lacks a message of
    /// the batch, nothing is sent. The future of [`blocking::Client`](crate::blocking::Client) is
    /// ready at the first poll.
    fn send(&mut self, batch: &Batch) -> impl Future<Output = Result<Answers, Error>> + Send;

    /// Whether VPP knew the message when it was last connected. If it did not, an older message may
    /// be used.
    fn supports<M: Message>(&self) -> bool;
}
