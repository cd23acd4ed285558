//! The requests in flight: limits their number, and matches answers with requests.

use super::table::{Table, Unknown};
use crate::answers::Answers;
use crate::batch::{AnswerKind, Batch};
use crate::error::ProtocolError;
use crate::messages::{ControlPing, ControlPingReply, write_message};
use crate::wire::{Envelope, Header, Reader, read_envelope, write_frame};
use std::collections::{BTreeMap, VecDeque};

/// The most unanswered messages at VPP; further requests wait here. VPP stops reading while its
/// answers are not read, and it executes messages one after the other: more in flight would not be
/// faster, fewer would leave it waiting for the client.
const WINDOW: usize = 256;

/// The id of a submitted batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchId(u64);

/// A batch with all its answers.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) batch: BatchId,
    pub(super) answers: Answers,
}

/// The batches with missing answers.
pub(super) struct Pipeline {
    batches: BTreeMap<BatchId, InFlight>,
    /// The batches with requests that were not yet sent.
    unsent: VecDeque<BatchId>,
    /// The key is the context.
    expected: BTreeMap<u32, Expected>,
    /// The number of unanswered requests of all batches.
    unanswered: usize,
    next_batch: u64,
    next_context: u32,
}

/// A batch with missing answers.
struct InFlight {
    batch: Batch,
    sent: usize,
    unanswered: usize,
    answers: Answers,
}

/// The answer that VPP has to send with a context.
#[derive(Clone, Copy)]
struct Expected {
    batch: BatchId,
    /// The index of the request in its batch.
    index: usize,
    /// The message id of the answer.
    answer: u16,
    /// What precedes its fields.
    header: Header,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    Reply,
    Details,
    /// Details, until the reply with this message id.
    DetailsUntil(u16),
    /// The reply to the control ping that follows the dump with this context.
    EndOfDump(u32),
}

impl Pipeline {
    pub(super) const fn new() -> Self {
        Self {
            batches: BTreeMap::new(),
            unsent: VecDeque::new(),
            expected: BTreeMap::new(),
            unanswered: 0,
            next_batch: 0,
            next_context: 1,
        }
    }

    /// Adds a batch. An empty one is answered at once. If the table lacks a message of it, nothing
    /// of it is sent.
    pub(super) fn submit(&mut self, batch: Batch, table: &Table) -> Result<(BatchId, Option<Answered>), Unknown> {
        table.check(&batch)?;
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        let answers = Answers::waiting_for(&batch);
        if batch.is_empty() {
            return Ok((id, Some(Answered { batch: id, answers })));
        }
        let unanswered = batch.len();
        self.unanswered += unanswered;
        self.batches.insert(id, InFlight { batch, sent: 0, unanswered, answers });
        self.unsent.push_back(id);
        Ok((id, None))
    }

    /// Returns the number of requests without an answer.
    #[cfg(feature = "async")]
    pub(super) const fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Names the request that VPP has to answer next.
    pub(super) fn pending_request(&self) -> Option<&'static str> {
        let expected = self.expected.values().next()?;
        let (entry, _) = self.batches.get(&expected.batch)?.batch.entry(expected.index)?;
        Some(entry.request.name)
    }

    /// Returns the context of the next message. No context is used twice on a connection.
    pub(super) const fn next_context(&mut self) -> u32 {
        let context = self.next_context;
        self.next_context = context.wrapping_add(1);
        context
    }

    /// Handles an answer. Returns the batch if this was its last answer.
    pub(super) fn handle_answer(&mut self, message: Vec<u8>) -> Result<Option<Answered>, ProtocolError> {
        let (id, context, Expected { batch, index, role, .. }) = self.find_expected(&message)?;
        match role {
            Role::Details => {
                self.add_answer(batch, index, message);
                return Ok(None);
            }
            Role::DetailsUntil(reply) if reply != id => {
                self.add_answer(batch, index, message);
                return Ok(None);
            }
            Role::Reply | Role::DetailsUntil(_) => self.add_answer(batch, index, message),
            Role::EndOfDump(dump) => {
                self.expected.remove(&dump);
            }
        }
        self.expected.remove(&context);
        Ok(self.finish_request(batch))
    }

    /// Finds what an answer is the answer to. Few have the index of the client before the context.
    fn find_expected(&self, message: &[u8]) -> Result<(u16, u32, Expected), ProtocolError> {
        let (id, Envelope { context, .. }) = read_envelope(Header::Context, &mut Reader::new(message))?;
        let find = |header: Header| {
            let (id, Envelope { context, .. }) = read_envelope(header, &mut Reader::new(message)).ok()?;
            let expected = self.expected.get(&context)?;
            let is_answer = match expected.role {
                Role::DetailsUntil(reply) if reply == id => header == Header::Context,
                _ => expected.answer == id && header == expected.header,
            };
            is_answer.then_some((id, context, *expected))
        };
        let found = [Header::Context, Header::ClientAndContext].into_iter().find_map(find);
        found.ok_or(ProtocolError::Unexpected { id, context })
    }

    fn add_answer(&mut self, batch: BatchId, index: usize, message: Vec<u8>) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.add(index, message);
        }
    }

    /// Counts an answered request of the batch.
    fn finish_request(&mut self, id: BatchId) -> Option<Answered> {
        let batch = self.batches.get_mut(&id)?;
        batch.unanswered -= 1;
        self.unanswered -= 1;
        if batch.unanswered > 0 {
            return None;
        }
        self.batches.remove(&id).map(|done| Answered { batch: id, answers: done.answers })
    }

    /// Sends requests until the limit is reached.
    pub(super) fn fill_window(&mut self, table: &Table, outgoing: &mut Vec<u8>) {
        while self.expected.len() < WINDOW
            && let Some(id) = self.unsent.front().copied()
        {
            if self.send_next(id, table, outgoing).is_none() {
                self.unsent.pop_front();
            }
        }
    }

    /// Sends the next request of the batch, if there is one.
    fn send_next(&mut self, id: BatchId, table: &Table, outgoing: &mut Vec<u8>) -> Option<()> {
        let context = self.next_context;
        let in_flight = self.batches.get_mut(&id)?;
        let index = in_flight.sent;
        let (entry, fields) = in_flight.batch.entry(index)?;
        let (request, answer) = (table.id(&entry.request)?, table.id(&entry.answer)?);
        let envelope = Envelope { client_index: table.client_index(), context };
        write_frame(outgoing, request, entry.request.header, envelope, fields);
        let (answer_kind, header) = (entry.answer_kind, entry.answer.header);
        in_flight.sent += 1;
        self.next_context();
        let role = match answer_kind {
            AnswerKind::Reply => Role::Reply,
            AnswerKind::Dump => Role::Details,
            AnswerKind::Get(reply) => Role::DetailsUntil(table.id(&reply)?),
        };
        self.expected.insert(context, Expected { batch: id, index, answer, header, role });
        if answer_kind == AnswerKind::Dump {
            let (ping, answer) = (table.id_of::<ControlPing>()?, table.id_of::<ControlPingReply>()?);
            let end = self.next_context();
            write_message(outgoing, ping, Envelope { context: end, ..envelope }, &ControlPing {});
            let role = Role::EndOfDump(context);
            self.expected.insert(end, Expected { batch: id, index, answer, header: Header::Context, role });
        }
        Some(())
    }
}
