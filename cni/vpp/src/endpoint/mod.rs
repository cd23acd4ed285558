//! The client's end of a connection, without IO: batches in, bytes out; bytes in, answers out.

mod inflight;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::{Table, Unknown};

use crate::answers::Answers;
use crate::batch::Batch;
use crate::error::ProtocolError;
use crate::messages::{Message, SOCKCLNT_CREATE_ID, SockclntCreate, SockclntDelete};
use crate::wire::{Envelope, FixedText, FrameDecoder, message_id, write_message};
use inflight::{Expected, InFlight};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How VPP lists us.
const CLIENT_NAME: &str = "usnet";

/// Additional timeout for a number of requests. VPP handles the slowest of them in a tenth of it.
pub(crate) fn timeout_for(requests: usize) -> Duration {
    const REQUEST: Duration = Duration::from_millis(5);
    REQUEST.saturating_mul(u32::try_from(requests).unwrap_or(u32::MAX))
}

/// Names a batch that was submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchId(u64);

/// What came out of the bytes.
#[derive(Debug)]
pub(crate) enum Event {
    /// VPP sent its table; batches can be submitted.
    Ready(Arc<Table>),
    /// All answers to a batch.
    Answered { batch: BatchId, answers: Answers },
    /// An interface changed.
    InterfaceChanged,
}

/// The client's end of a connection.
pub(crate) struct Endpoint {
    decoder: FrameDecoder,
    outgoing: Vec<u8>,
    /// How many bytes of `outgoing` were written.
    written: usize,
    table: Option<Arc<Table>>,
    batches: BTreeMap<BatchId, InFlight>,
    /// Those with requests that were not yet sent.
    unsent: VecDeque<BatchId>,
    expected: BTreeMap<u32, Expected>,
    /// Requests of all batches.
    unanswered: usize,
    answered: VecDeque<Event>,
    next_batch: u64,
    next_context: u32,
}

impl Endpoint {
    /// A new connection. The first message is ready to be written.
    pub(crate) fn new() -> Self {
        let mut outgoing = Vec::new();
        let create = SockclntCreate { name: FixedText::new(CLIENT_NAME).unwrap_or_default() };
        write_message(&mut outgoing, SOCKCLNT_CREATE_ID, Envelope::default(), &create);
        Self {
            decoder: FrameDecoder::default(),
            outgoing,
            written: 0,
            table: None,
            batches: BTreeMap::new(),
            unsent: VecDeque::new(),
            expected: BTreeMap::new(),
            unanswered: 0,
            answered: VecDeque::new(),
            next_batch: 0,
            next_context: 1,
        }
    }

    /// Submits a batch.
    ///
    /// # Errors
    /// [`Unknown`] if VPP lacks a message of it, or has not sent its table. Then nothing of it is
    /// sent.
    pub(crate) fn submit(&mut self, batch: Batch) -> Result<BatchId, Unknown> {
        match &self.table {
            Some(table) => table.check(&batch)?,
            None => Table::default().check(&batch)?,
        }
        let id = BatchId(self.next_batch);
        self.next_batch += 1;
        let answers = Answers::waiting_for(&batch);
        if batch.is_empty() {
            self.answered.push_back(Event::Answered { batch: id, answers });
        } else {
            let unanswered = batch.len();
            self.unanswered += unanswered;
            self.batches.insert(id, InFlight { batch, sent: 0, unanswered, answers });
            self.unsent.push_back(id);
            self.fill_window();
        }
        Ok(id)
    }

    /// Queues the last message of the connection, if VPP has sent its table. Later messages of VPP
    /// are ignored. Returns whether it was queued.
    pub(crate) fn close(&mut self) -> bool {
        let Some(table) = &self.table else { return false };
        let Some(id) = table.id_of::<SockclntDelete>() else { return false };
        let index = table.client_index();
        let envelope = Envelope { client_index: index, context: self.next_context };
        write_message(&mut self.outgoing, id, envelope, &SockclntDelete { index });
        true
    }

    /// Requests that have no answer yet.
    #[cfg(feature = "async")]
    pub(crate) const fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// The request of a batch that VPP has to answer next, for an error.
    pub(crate) fn pending_request(&self) -> &'static str {
        let first = self.expected.values().next();
        let request = first.and_then(|expected| {
            let (entry, _) = self.batches.get(&expected.batch)?.batch.entry(expected.index)?;
            Some(entry.request.name)
        });
        request.unwrap_or(SockclntCreate::NAME)
    }

    /// What is to be written.
    pub(crate) fn outgoing(&self) -> &[u8] {
        self.outgoing.get(self.written..).unwrap_or_default()
    }

    /// Reports that some of [`Self::outgoing`] was written.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.written = self.outgoing.len().min(self.written + bytes);
        // Not each time, because what is left is moved.
        if self.written * 2 >= self.outgoing.len() {
            self.outgoing.drain(..self.written);
            self.written = 0;
        }
    }

    /// Adds bytes that were read.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.decoder.receive(bytes);
    }

    /// The next event in the received bytes.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>, ProtocolError> {
        loop {
            if let Some(event) = self.answered.pop_front() {
                return Ok(Some(event));
            }
            let Some(message) = self.decoder.next_message()? else { return Ok(None) };
            match self.table.as_ref().map(|table| table.event_id()) {
                None => {
                    let table = Arc::new(Table::read(&message)?);
                    self.table = Some(Arc::clone(&table));
                    return Ok(Some(Event::Ready(table)));
                }
                Some(event) if event == Some(message_id(&message)?) => {
                    return Ok(Some(Event::InterfaceChanged));
                }
                Some(_) => self.handle_answer(message)?,
            }
        }
    }
}
