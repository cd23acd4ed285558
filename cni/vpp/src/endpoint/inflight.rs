//! Requests in flight: limits their number, and matches answers with requests.

use super::{BatchId, Endpoint, Event};
use crate::answers::Answers;
use crate::batch::{AnswerKind, Batch};
use crate::error::ProtocolError;
use crate::messages::{ControlPing, ControlPingReply};
use crate::wire::{Envelope, Header, Reader, read_envelope, write_frame, write_message};

/// Unanswered messages at VPP; further requests wait here. VPP stops reading while its answers are
/// not read.
const WINDOW: usize = 256;

/// A batch with missing answers.
pub(super) struct InFlight {
    pub(super) batch: Batch,
    pub(super) sent: usize,
    pub(super) unanswered: usize,
    pub(super) answers: Answers,
}

/// What has to come with a context.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) batch: BatchId,
    /// The request's index in its batch.
    pub(super) index: usize,
    answer: u16,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    Reply,
    Details,
    /// The reply to the control ping after the dump with this context.
    EndOfDump(u32),
}

impl Endpoint {
    pub(super) fn handle_answer(&mut self, message: Vec<u8>) -> Result<(), ProtocolError> {
        let (id, Envelope { context, .. }) = read_envelope(Header::Context, &mut Reader::new(&message))?;
        let expected = self.expected.get(&context).filter(|expected| expected.answer == id).copied();
        let Some(Expected { batch, index, role, .. }) = expected else {
            return Err(ProtocolError::Unexpected { id, context });
        };
        match role {
            Role::Details => {
                self.add_answer(batch, index, message);
                return Ok(());
            }
            Role::Reply => self.add_answer(batch, index, message),
            Role::EndOfDump(dump) => {
                self.expected.remove(&dump);
            }
        }
        self.expected.remove(&context);
        self.finish_request(batch);
        self.fill_window();
        Ok(())
    }

    fn add_answer(&mut self, batch: BatchId, index: usize, message: Vec<u8>) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.add(index, message);
        }
    }

    /// One request of the batch is answered.
    fn finish_request(&mut self, id: BatchId) {
        let Some(batch) = self.batches.get_mut(&id) else { return };
        batch.unanswered -= 1;
        self.unanswered -= 1;
        if batch.unanswered == 0
            && let Some(done) = self.batches.remove(&id)
        {
            self.answered.push_back(Event::Answered { batch: id, answers: done.answers });
        }
    }

    /// Sends requests while fewer than the limit are in flight.
    pub(super) fn fill_window(&mut self) {
        while self.expected.len() < WINDOW
            && let Some(id) = self.unsent.front().copied()
        {
            if self.send_next(id).is_none() {
                self.unsent.pop_front();
            }
        }
    }

    /// Sends the batch's next request, if it has one more.
    fn send_next(&mut self, id: BatchId) -> Option<()> {
        let table = self.table.as_ref()?;
        let in_flight = self.batches.get_mut(&id)?;
        let index = in_flight.sent;
        let (entry, fields) = in_flight.batch.entry(index)?;
        let (request, answer) = (table.id(&entry.request)?, table.id(&entry.answer)?);
        in_flight.sent += 1;
        let context = self.next_context;
        let envelope = Envelope { client_index: table.client_index(), context };
        write_frame(&mut self.outgoing, request, entry.request.header, envelope, fields);
        let role = match entry.answer_kind {
            AnswerKind::Reply => Role::Reply,
            AnswerKind::Dump => Role::Details,
        };
        self.expected.insert(context, Expected { batch: id, index, answer, role });
        self.next_context = context.wrapping_add(1);
        if entry.answer_kind == AnswerKind::Dump {
            let (ping, answer) = (table.id_of::<ControlPing>()?, table.id_of::<ControlPingReply>()?);
            let envelope = Envelope { context: self.next_context, ..envelope };
            write_message(&mut self.outgoing, ping, envelope, &ControlPing {});
            let end = Expected { batch: id, index, answer, role: Role::EndOfDump(context) };
            self.expected.insert(self.next_context, end);
            self.next_context = self.next_context.wrapping_add(1);
        }
        Some(())
    }
}
