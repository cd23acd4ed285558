//! OVSDB on one connection of a session, which is open once all watched rows are read.

use super::{Options, Snapshot};
use crate::transact::{self, Answer};
use crate::wire::{Endpoint, Event, RequestId};
use crate::{Cache, Error, ParseError, monitor};
use serde_json::json;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::time::Instant;
use usnet_transport::asynchronous::{Failure, Received, Submitted};

/// The most transactions in flight; others wait in the queue. The server executes them one after
/// the other: more in flight would not be faster, and their answers would all be held in its
/// memory.
const WINDOW: usize = 64;

/// The method of a probe (RFC 7047 §4.1.11).
const ECHO: &str = "echo";

#[derive(Debug)]
pub(super) struct Connection {
    options: Arc<Options>,
    endpoint: Endpoint,
    snapshot: Snapshot,
    /// The request for the initial dump, until it is answered.
    monitor: Option<RequestId>,
    /// When the last echo was sent.
    probed: Option<Instant>,
}

impl Connection {
    fn request(&mut self, method: &str, params: &impl serde::Serialize) -> Result<RequestId, Error> {
        self.endpoint.request(method, params).map_err(|source| Error::Wire { socket: self.path(), source })
    }

    fn next_event(&mut self) -> Result<Option<Event>, Error> {
        self.endpoint.next_event().map_err(|source| Error::Wire { socket: self.path(), source })
    }

    fn apply_initial_dump(&mut self, answer: Answer) -> Result<(), Error> {
        let dump = answer.map_err(|error| Error::Refused {
            socket: self.path(),
            request: monitor::METHOD,
            error: error.into(),
        })?;
        self.apply(monitor::parse_reply(&dump))
    }

    fn apply(&mut self, updates: Result<Vec<monitor::RowUpdate>, ParseError>) -> Result<(), Error> {
        let updates = updates.map_err(|source| Error::Monitor { socket: self.path(), source })?;
        let applied = Arc::make_mut(&mut self.snapshot.cache).apply(updates);
        applied.map_err(|source| Error::Cache { socket: self.path(), source })
    }

    fn path(&self) -> PathBuf {
        self.options.socket.clone()
    }
}

impl usnet_transport::asynchronous::Connection for Connection {
    type Endpoint = Endpoint;
    type Context = Arc<Options>;
    type Request = Box<RawValue>;
    type RequestId = RequestId;
    type Answer = Answer;
    type Connected = Snapshot;
    type Error = Error;

    const REFUSES_WHILE_OPENING: bool = false;

    fn begin(options: &mut Arc<Options>, epoch: u64) -> Result<Self, Error> {
        let cache = Arc::new(Cache::new(&options.tables));
        let mut connection = Self {
            options: Arc::clone(options),
            endpoint: Endpoint::default(),
            snapshot: Snapshot { epoch, cache },
            monitor: None,
            probed: None,
        };
        let params = monitor::request(options.database, &options.tables);
        connection.monitor = Some(connection.request(monitor::METHOD, &params)?);
        Ok(connection)
    }

    fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn is_open(&self) -> bool {
        self.monitor.is_none()
    }

    fn connected(&self) -> Snapshot {
        self.snapshot.clone()
    }

    fn has_room(&self, in_flight: usize) -> bool {
        in_flight < WINDOW
    }

    /// Sets no limit: the caller has one, and a late answer is no reason to read all tables again.
    fn submit(&mut self, transaction: Box<RawValue>) -> Result<Submitted<RequestId>, Error> {
        Ok(Submitted { id: self.request(transact::METHOD, &transaction)?, limit: None })
    }

    fn handle_received(&mut self) -> Result<Received<Self>, Error> {
        let mut received = Received { answers: Vec::new(), changed: false };
        while let Some(event) = self.next_event()? {
            match event {
                Event::Response { id, result } if Some(id) == self.monitor => {
                    self.apply_initial_dump(result)?;
                    self.monitor = None;
                    received.changed = true;
                }
                Event::Response { id, result } => received.answers.push((id, result)),
                Event::Notification { method, params } if method == monitor::UPDATE_METHOD => {
                    self.apply(monitor::parse_update(&params))?;
                    received.changed = true;
                }
                Event::Notification { method, .. } if method == monitor::CANCELED_METHOD => {
                    return Err(Error::MonitorCanceled { socket: self.path() });
                }
                Event::Notification { .. } => {}
            }
        }
        Ok(received)
    }

    fn probe_at(&self, last_received: Instant) -> Instant {
        self.probed.map_or(last_received, |probed| probed.max(last_received)) + self.options.probe_after
    }

    /// Anything that is received after an echo counts as its answer.
    fn probe(&mut self, last_received: Instant) -> Result<Option<Submitted<RequestId>>, Error> {
        if self.probed.is_some_and(|probed| probed > last_received) {
            return Err(Error::Timeout { socket: self.path(), request: ECHO, limit: self.options.probe_after });
        }
        self.probed = Some(Instant::now());
        self.request(ECHO, &json!([]))?;
        Ok(None)
    }

    fn pending_request(&self) -> &'static str {
        transact::METHOD
    }

    fn error(path: &Path, failure: Failure<Error>) -> Error {
        let socket = path.to_owned();
        match failure {
            Failure::NotYetConnected => Error::NotYetConnected { socket },
            Failure::Connect(source) => Error::Connect { socket, source },
            Failure::Transfer { request, error } => Error::transfer(path, request, error),
            Failure::NotSent(source) => Error::NotSent { socket, source },
            Failure::AnswerLost(source) => Error::AnswerLost { socket, source },
            Failure::SessionEnded => Error::SessionEnded { socket },
        }
    }
}
