//! The answers to a batch.

use crate::batch::{Batch, DumpTicket, GetTicket, Ticket};
use crate::messages::{Descriptor, Dump, Get, Message, Reply, Request};
use crate::return_code::ReturnCode;
use crate::wire::{DecodeError, Reader, read_envelope};

/// VPP's answers to the requests of a batch. Tickets of the batch find them.
#[derive(Debug, Default)]
pub struct Answers {
    answers: Vec<Answer>,
}

#[derive(Debug)]
struct Answer {
    request: Descriptor,
    /// One reply, or all details, after which a get has its reply. These are whole messages with id
    /// and envelope.
    messages: Vec<Vec<u8>>,
}

/// The reason why a request has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// VPP did not execute the request.
    #[error("VPP refused {message}: {code}")]
    Refused { message: &'static str, code: ReturnCode },
    /// The reply does not have the layout of its CRC.
    #[error("the reply to {message} does not have the layout of VPP's API definition")]
    Malformed {
        message: &'static str,
        #[source]
        source: DecodeError,
    },
    /// The ticket belongs to another batch.
    #[error("there is no answer to {message}: its ticket belongs to another batch")]
    OtherBatch { message: &'static str },
}

impl ReplyError {
    /// Returns VPP's return code, if it refused.
    #[must_use]
    pub const fn code(&self) -> Option<ReturnCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Malformed { .. } | Self::OtherBatch { .. } => None,
        }
    }
}

impl Answers {
    /// Returns empty answers to all requests of the batch.
    pub(crate) fn waiting_for(batch: &Batch) -> Self {
        let answer = |entry: &crate::batch::Entry| Answer { request: entry.request, messages: Vec::new() };
        Self { answers: batch.entries().iter().map(answer).collect() }
    }

    /// Adds a message to the answer of the request at `index`.
    pub(crate) fn add(&mut self, index: usize, message: Vec<u8>) {
        if let Some(answer) = self.answers.get_mut(index) {
            answer.messages.push(message);
        }
    }

    /// Returns the number of messages with which VPP answered: one for each request, and one for
    /// each of the details of a dump.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.answers.iter().map(|answer| answer.messages.len()).sum()
    }

    /// Returns the reply to a request.
    ///
    /// # Errors
    /// [`ReplyError::Refused`] if VPP did not execute the request.
    pub fn reply<R: Request>(&self, ticket: Ticket<R>) -> Result<R::Reply, ReplyError> {
        let messages = self.messages::<R>(ticket.index)?;
        let message = messages.first().ok_or(ReplyError::OtherBatch { message: R::NAME })?;
        accepted(R::NAME, decode::<R::Reply>(R::NAME, message)?)
    }

    /// Returns the details that answer a get, in VPP's order, and its reply.
    ///
    /// # Errors
    /// [`ReplyError::Refused`] if VPP did not execute the get, or not all of it.
    pub fn got<G: Get>(&self, ticket: GetTicket<G>) -> Result<(Vec<G::Details>, G::Reply), ReplyError> {
        let messages = self.messages::<G>(ticket.index)?;
        let (reply, details) = messages.split_last().ok_or(ReplyError::OtherBatch { message: G::NAME })?;
        let reply = accepted(G::NAME, decode::<G::Reply>(G::NAME, reply)?)?;
        let details: Result<_, _> = details.iter().map(|message| decode(G::NAME, message)).collect();
        Ok((details?, reply))
    }

    /// Returns the details that answer a dump, in VPP's order.
    pub fn details<D: Dump>(&self, ticket: DumpTicket<D>) -> Result<Vec<D::Details>, ReplyError> {
        self.messages::<D>(ticket.index)?.iter().map(|message| decode(D::NAME, message)).collect()
    }

    fn messages<M: Message>(&self, index: usize) -> Result<&[Vec<u8>], ReplyError> {
        let answer = self.answers.get(index).filter(|answer| answer.request == Descriptor::of::<M>());
        answer.map(|answer| answer.messages.as_slice()).ok_or(ReplyError::OtherBatch { message: M::NAME })
    }
}

fn accepted<R: Reply>(message: &'static str, reply: R) -> Result<R, ReplyError> {
    match reply.retval() {
        0 => Ok(reply),
        retval => Err(ReplyError::Refused { message, code: retval.into() }),
    }
}

fn decode<M: Message>(request: &'static str, message: &[u8]) -> Result<M, ReplyError> {
    let mut reader = Reader::new(message);
    read_envelope(M::HEADER, &mut reader)
        .and_then(|_| M::decode(&mut reader))
        .map_err(|source| ReplyError::Malformed { message: request, source })
}
