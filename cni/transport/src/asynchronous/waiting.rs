//! The requests in flight, with their callers.

use super::connection::{Connection, Submitted};
use super::request::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The requests in flight.
pub(super) struct Waiting<C: Connection> {
    requests: BTreeMap<C::RequestId, InFlight<C>>,
    deadlines: BTreeSet<(Instant, C::RequestId)>,
}

struct InFlight<C: Connection> {
    /// The receiver is gone if the caller was cancelled.
    answer: oneshot::Sender<Answer<C>>,
    due: Option<Due>,
}

/// The deadline of a request.
struct Due {
    at: Instant,
    limit: Duration,
}

impl<C: Connection> Waiting<C> {
    pub(super) const fn new() -> Self {
        Self { requests: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    pub(super) fn add(&mut self, submitted: Submitted<C::RequestId>, answer: oneshot::Sender<Answer<C>>) {
        let Submitted { id, limit } = submitted;
        let due = limit.map(|limit| Due { at: Instant::now() + limit, limit });
        self.deadlines.extend(due.as_ref().map(|due| (due.at, id)));
        self.requests.insert(id, InFlight { answer, due });
    }

    /// Whether the connection takes another request. Requests of cancelled callers do not count,
    /// unless their answers are due.
    pub(super) fn has_room(&mut self, connection: &C) -> bool {
        if !connection.has_room(self.requests.len()) {
            self.requests.retain(|_, request| request.due.is_some() || !request.answer.is_closed());
        }
        connection.has_room(self.requests.len())
    }

    pub(super) fn answer(&mut self, id: C::RequestId, answer: C::Answer) {
        if let Some(InFlight { answer: caller, due }) = self.requests.remove(&id) {
            if let Some(due) = due {
                self.deadlines.remove(&(due.at, id));
            }
            let _receiver_gone = caller.send(Ok(answer));
        }
    }

    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the time that the request with the first deadline had.
    pub(super) fn first_limit(&self) -> Option<Duration> {
        let (_, id) = self.deadlines.first()?;
        self.requests.get(id)?.due.as_ref().map(|due| due.limit)
    }

    /// Fails all requests, because their answers are lost.
    pub(super) fn fail(self, error: impl Fn() -> C::Error) {
        for request in self.requests.into_values() {
            let _receiver_gone = request.answer.send(Err(error()));
        }
    }
}
