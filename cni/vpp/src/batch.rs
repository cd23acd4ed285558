//! A batch of requests.

use crate::messages::{ControlPingReply, Descriptor, Dump, Get, Request};
use crate::wire::Writer;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

/// Requests that VPP executes in this order. A refused one does not stop the following ones.
#[derive(Clone, Default)]
pub struct Batch {
    entries: Vec<Entry>,
    /// The encoded fields of all requests.
    fields: Vec<u8>,
}

/// A request without its fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) request: Descriptor,
    /// The type of the reply or of the details.
    pub(crate) answer: Descriptor,
    pub(crate) answer_kind: AnswerKind,
    fields_end: usize,
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// The answer is one reply.
    Reply,
    /// The details are followed by the reply to a control ping, which is sent after the dump:
    /// details do not say which is the last one.
    Dump,
    /// The details are followed by this reply, which has the same context.
    Get(Descriptor),
}

/// Finds the reply to a request of a batch.
pub struct Ticket<R> {
    pub(crate) index: usize,
    request: PhantomData<fn() -> R>,
}

/// Finds the details of a dump of a batch.
pub struct DumpTicket<D> {
    pub(crate) index: usize,
    dump: PhantomData<fn() -> D>,
}

/// Finds the details and the reply to a get of a batch.
pub struct GetTicket<G> {
    pub(crate) index: usize,
    get: PhantomData<fn() -> G>,
}

impl Batch {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[expect(clippy::needless_pass_by_value, reason = "a request is built to be sent")]
    pub fn request<R: Request>(&mut self, request: R) -> Ticket<R> {
        let index = self.entries.len();
        self.push(&request, Descriptor::of::<R::Reply>(), AnswerKind::Reply);
        Ticket { index, request: PhantomData }
    }

    /// Adds a dump, and a control ping whose reply ends the details.
    #[expect(clippy::needless_pass_by_value, reason = "a dump is built to be sent")]
    pub fn dump<D: Dump>(&mut self, dump: D) -> DumpTicket<D> {
        let index = self.entries.len();
        self.push(&dump, Descriptor::of::<D::Details>(), AnswerKind::Dump);
        DumpTicket { index, dump: PhantomData }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a get is built to be sent")]
    pub fn get<G: Get>(&mut self, get: G) -> GetTicket<G> {
        let index = self.entries.len();
        self.push(&get, Descriptor::of::<G::Details>(), AnswerKind::Get(Descriptor::of::<G::Reply>()));
        GetTicket { index, get: PhantomData }
    }

    /// Returns the number of requests, dumps and gets.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn push<M: crate::Message>(&mut self, message: &M, answer: Descriptor, answer_kind: AnswerKind) {
        let mut writer = Writer::append_to(std::mem::take(&mut self.fields));
        message.encode(&mut writer);
        self.fields = writer.into_bytes();
        self.entries.push(Entry { request: Descriptor::of::<M>(), answer, answer_kind, fields_end: self.fields.len() });
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the request at `index` with its encoded fields.
    pub(crate) fn entry(&self, index: usize) -> Option<(&Entry, &[u8])> {
        let entry = self.entries.get(index)?;
        let start =
            index.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |before| before.fields_end);
        Some((entry, self.fields.get(start..entry.fields_end)?))
    }
}

impl Entry {
    /// Returns the messages that VPP has to know for this request.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Descriptor> {
        let end = match self.answer_kind {
            AnswerKind::Reply => None,
            AnswerKind::Dump => Some(Descriptor::of::<ControlPingReply>()),
            AnswerKind::Get(reply) => Some(reply),
        };
        [self.request, self.answer].into_iter().chain(end)
    }
}

/// Prints only names, because the fields may contain a secret.
impl Debug for Batch {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.entries.iter().map(|entry| entry.request.name)).finish()
    }
}

impl<R> Clone for Ticket<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Ticket<R> {}

impl<R: Request> Debug for Ticket<R> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} #{}", R::NAME, self.index)
    }
}

impl<G> Clone for GetTicket<G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for GetTicket<G> {}

impl<G: Get> Debug for GetTicket<G> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} #{}", G::NAME, self.index)
    }
}

impl<D> Clone for DumpTicket<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for DumpTicket<D> {}

impl<D: Dump> Debug for DumpTicket<D> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} #{}", D::NAME, self.index)
    }
}
