//! One connection of a session, from its first byte to the error that ends it.

use super::{Answer, Options, Request, Snapshot, State};
use crate::wire::{Endpoint, Event, RequestId};
use crate::{Cache, Error, monitor};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

const READ_SIZE: usize = 64 << 10;
/// Transactions that the server works on; the next ones wait in the queue.
const WINDOW: usize = 64;

/// The transactions that the server works on.
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<RequestId, oneshot::Sender<Result<Answer, Error>>>);

impl Waiting {
    /// Whether another transaction may be sent. Those of cancelled callers do not count.
    fn has_room(&mut self) -> bool {
        if self.0.len() >= WINDOW {
            self.0.retain(|_, answer| !answer.is_closed());
        }
        self.0.len() < WINDOW
    }

    /// Reports to all callers that their answer is lost.
    pub(super) fn fail(self, socket: &Path, reason: &Arc<Error>) {
        for answer in self.0.into_values() {
            let error = Error::AnswerLost { socket: socket.to_owned(), source: Arc::clone(reason) };
            let _receiver_gone = answer.send(Err(error));
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection<'session> {
    options: &'session Options,
    stream: UnixStream,
    endpoint: Endpoint,
    buffer: Vec<u8>,
    snapshot: Snapshot,
    /// The request for the first dump, until it is answered.
    monitor: Option<RequestId>,
    last_received: Instant,
    /// When the keepalive (echo) was sent.
    probed: Option<Instant>,
}

impl<'session> Connection<'session> {
    /// Connects and requests the initial dump.
    pub(super) async fn open(options: &'session Options, epoch: u64) -> Result<Self, Error> {
        let refused = |source| Error::Connect { socket: options.socket.clone(), source };
        let stream = timeout(options.timeout, UnixStream::connect(&options.socket))
            .await
            .unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
            .map_err(refused)?;
        let cache = Arc::new(Cache::new(&options.tables));
        let mut connection = Self {
            options,
            stream,
            endpoint: Endpoint::default(),
            buffer: vec![0; READ_SIZE],
            snapshot: Snapshot { epoch, cache },
            monitor: None,
            last_received: Instant::now(),
            probed: None,
        };
        let params = monitor::request(options.database, &options.tables);
        connection.monitor = Some(connection.request(monitor::METHOD, &params)?);
        Ok(connection)
    }

    /// Serves requests and updates until the connection fails, and returns why.
    pub(super) async fn run(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        waiting: &mut Waiting,
        state: &watch::Sender<State>,
    ) -> Error {
        loop {
            if let Err(error) = self.step(requests, waiting, state).await {
                return error;
            }
        }
    }

    async fn step(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        waiting: &mut Waiting,
        state: &watch::Sender<State>,
    ) -> Result<(), Error> {
        let writing = !self.endpoint.outgoing().is_empty();
        let interest = if writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        // No transaction before the initial dump, nor while too many are in flight.
        let accepting = self.monitor.is_none() && waiting.has_room();
        // In this order: received data is handled before the keepalive is checked.
        tokio::select! {
            biased;
            ready = self.stream.ready(interest) => {
                let ready = ready.map_err(|error| self.io(error))?;
                if ready.is_readable() {
                    self.read()?;
                    self.handle_events(waiting, state)?;
                }
                if ready.is_writable() {
                    self.write()?;
                }
            }
            () = sleep_until(self.keepalive_deadline()) => self.check_keepalive()?,
            Some(request) = requests.recv(), if accepting => {
                let id = self.request(super::REQUEST, &request.params)?;
                waiting.0.insert(id, request.answer);
            }
        }
        Ok(())
    }

    fn request(&mut self, method: &str, params: &impl serde::Serialize) -> Result<RequestId, Error> {
        self.endpoint.request(method, params).map_err(|source| Error::Wire { socket: self.socket(), source })
    }

    fn read(&mut self) -> Result<(), Error> {
        match self.stream.try_read(&mut self.buffer) {
            Ok(0) => Err(Error::Closed { socket: self.socket() }),
            Ok(bytes) => {
                self.endpoint.receive(self.buffer.get(..bytes).unwrap_or_default());
                self.last_received = Instant::now();
                self.probed = None;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(self.io(error)),
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let outgoing = self.endpoint.outgoing();
        if outgoing.is_empty() {
            return Ok(());
        }
        match self.stream.try_write(outgoing) {
            Ok(bytes) => self.endpoint.sent(bytes),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(self.io(error)),
        }
        Ok(())
    }

    /// Handles all received messages: updates are published before answers are delivered.
    fn handle_events(&mut self, waiting: &mut Waiting, state: &watch::Sender<State>) -> Result<(), Error> {
        let mut answers = Vec::new();
        let mut changed = false;
        let wire = |source| Error::Wire { socket: self.options.socket.clone(), source };
        while let Some(event) = self.endpoint.next_event().map_err(wire)? {
            match event {
                Event::Response { id, result } if Some(id) == self.monitor => {
                    self.apply_initial_dump(result)?;
                    self.monitor = None;
                    changed = true;
                }
                Event::Response { id, result } => answers.extend(waiting.0.remove(&id).zip(Some(result))),
                Event::Notification { method, params } if method == monitor::UPDATE_METHOD => {
                    self.apply(monitor::parse_update(&params))?;
                    changed = true;
                }
                Event::Notification { method, .. } if method == monitor::CANCELED_METHOD => {
                    return Err(Error::MonitorCanceled { socket: self.socket() });
                }
                Event::Notification { .. } => {}
            }
        }
        if changed && self.monitor.is_none() {
            state.send_replace(State::Connected(self.snapshot.clone()));
        }
        for (answer, result) in answers {
            // The receiver is gone if the caller was cancelled.
            let _receiver_gone = answer.send(Ok(result));
        }
        Ok(())
    }

    fn apply_initial_dump(&mut self, answer: Answer) -> Result<(), Error> {
        let dump = answer.map_err(|error| Error::Refused {
            socket: self.socket(),
            request: monitor::METHOD,
            error: error.into(),
        })?;
        self.apply(monitor::parse_reply(&dump))
    }

    fn apply(&mut self, updates: Result<Vec<monitor::RowUpdate>, crate::ParseError>) -> Result<(), Error> {
        let updates = updates.map_err(|source| Error::Monitor { socket: self.socket(), source })?;
        let applied = Arc::make_mut(&mut self.snapshot.cache).apply(updates);
        applied.map_err(|source| Error::Cache { socket: self.socket(), source })
    }

    fn keepalive_deadline(&self) -> Instant {
        self.probed.unwrap_or(self.last_received) + self.options.probe_after
    }

    fn check_keepalive(&mut self) -> Result<(), Error> {
        if self.probed.is_some() {
            return Err(Error::Timeout { socket: self.socket(), request: "echo", limit: self.options.probe_after });
        }
        self.probed = Some(Instant::now());
        self.request("echo", &json!([])).map(drop)
    }

    fn io(&self, source: io::Error) -> Error {
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Error::Closed { socket: self.socket() },
            _ => Error::Io { socket: self.socket(), source },
        }
    }

    fn socket(&self) -> std::path::PathBuf {
        self.options.socket.clone()
    }
}
