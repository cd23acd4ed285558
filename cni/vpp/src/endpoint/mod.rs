//! The client's end of a connection, without IO: batches in, bytes out; bytes in, answers out.
//!
//! - `table`: the messages that VPP knows, with their ids, which `table_reader` reads when
//!   connecting.
//! - `pipeline`: requests in flight, and their answers by context.

mod pipeline;
mod table;
mod table_reader;
#[cfg(test)]
mod tests;

pub(crate) use pipeline::BatchId;
pub(crate) use table::{Table, Unknown};

use crate::answers::Answers;
use crate::batch::Batch;
use crate::error::ProtocolError;
use crate::messages::{Message, SOCKCLNT_CREATE_ID, SockclntCreate, SockclntDelete, write_message};
use crate::wire::{Envelope, FixedText, FrameDecoder, message_id};
use pipeline::{Answered, Pipeline};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use table_reader::TableReader;
use usnet_transport::{Outgoing, Protocol};

/// The client's name in VPP's `show api clients`.
const CLIENT_NAME: &str = "usnet";

/// Returns the additional timeout for a number of requests: 5 ms for each. VPP executes the slowest
/// of them in a tenth of it; more would hide a hanging VPP behind a large batch.
pub(crate) fn timeout_for(requests: usize) -> Duration {
    const REQUEST: Duration = Duration::from_millis(5);
    REQUEST.saturating_mul(u32::try_from(requests).unwrap_or(u32::MAX))
}

/// The meaning of received bytes.
#[derive(Debug)]
pub(crate) enum Event {
    /// VPP has sent its message table, so that batches can be submitted.
    Ready(Arc<Table>),
    /// All requests of a batch are answered.
    Answered { batch: BatchId, answers: Answers },
    /// An interface has changed.
    InterfaceChanged,
}

pub(crate) struct Endpoint {
    /// Reads the first message; none once it has.
    opening: Option<TableReader>,
    decoder: FrameDecoder,
    outgoing: Outgoing,
    table: Option<Arc<Table>>,
    pipeline: Pipeline,
    answered: VecDeque<Answered>,
}

impl Endpoint {
    /// Begins a connection by queueing the first message.
    pub(crate) fn new() -> Self {
        let mut outgoing = Outgoing::default();
        let create = SockclntCreate { name: FixedText::new(CLIENT_NAME).unwrap_or_default() };
        write_message(outgoing.end(), SOCKCLNT_CREATE_ID, Envelope::default(), &create);
        Self {
            opening: Some(TableReader::new()),
            decoder: FrameDecoder::default(),
            outgoing,
            table: None,
            pipeline: Pipeline::new(),
            answered: VecDeque::new(),
        }
    }

    /// Submits a batch. If VPP lacks a message of it, or has not sent its table, nothing is sent.
    pub(crate) fn submit(&mut self, batch: Batch) -> Result<BatchId, Unknown> {
        let table = self.table.clone().unwrap_or_default();
        let (id, answered) = self.pipeline.submit(batch, &table)?;
        self.answered.extend(answered);
        self.pipeline.fill_window(&table, self.outgoing.end());
        Ok(id)
    }

    /// Queues the last message of the connection, if VPP has sent its table. Returns whether it was
    /// queued.
    pub(crate) fn close(&mut self) -> bool {
        let Some(table) = &self.table else { return false };
        let Some(id) = table.id_of::<SockclntDelete>() else { return false };
        let index = table.client_index();
        let envelope = Envelope { client_index: index, context: self.pipeline.next_context() };
        write_message(self.outgoing.end(), id, envelope, &SockclntDelete { index });
        true
    }

    /// Returns the number of requests without an answer.
    #[cfg(feature = "async")]
    pub(crate) const fn unanswered(&self) -> usize {
        self.pipeline.unanswered()
    }

    /// Names the request that VPP has to answer next, for an error.
    pub(crate) fn pending_request(&self) -> &'static str {
        self.pipeline.pending_request().unwrap_or(SockclntCreate::NAME)
    }

    /// Returns the next event in the received bytes. An error means that the peer is not VPP or
    /// refuses this client: the connection has to be closed.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(Answered { batch, answers }) = self.answered.pop_front() {
                return Ok(Some(Event::Answered { batch, answers }));
            }
            if let Some(opening) = &mut self.opening {
                let Some((table, rest)) = opening.read()? else { return Ok(None) };
                self.opening = None;
                self.decoder.receive(&rest);
                let table = Arc::new(table);
                self.table = Some(Arc::clone(&table));
                return Ok(Some(Event::Ready(table)));
            }
            let (Some(message), Some(table)) = (self.decoder.next_message()?, &self.table) else { return Ok(None) };
            if table.event_id() == Some(message_id(&message)?) {
                return Ok(Some(Event::InterfaceChanged));
            }
            self.answered.extend(self.pipeline.handle_answer(message)?);
            self.pipeline.fill_window(table, self.outgoing.end());
        }
    }
}

impl Protocol for Endpoint {
    fn outgoing(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    fn sent(&mut self, bytes: usize) {
        self.outgoing.sent(bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        match &mut self.opening {
            Some(opening) => opening.receive(bytes),
            None => self.decoder.receive(bytes),
        }
    }
}
