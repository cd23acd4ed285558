//! One connection of a session, from its first byte to the error that ends it.

use super::waiting::{Request, Waiting};
use super::{Options, Snapshot, State};
use crate::transact::{self, Answer};
use crate::wire::{Endpoint, Event, RequestId, WireError};
use crate::{Cache, Error, monitor};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use usnet_transport::TransferError;
use usnet_transport::asynchronous::Socket;

#[derive(Debug)]
pub(super) struct Connection<'session> {
    options: &'session Options,
    socket: Socket,
    endpoint: Endpoint,
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
        let socket = Socket::connect(&options.socket, options.timeout).await.map_err(refused)?;
        let cache = Arc::new(Cache::new(&options.tables));
        let mut connection = Self {
            options,
            socket,
            endpoint: Endpoint::default(),
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
        // No transaction before the initial dump, nor while too many are in flight.
        let accepting = self.monitor.is_none() && waiting.has_room();
        let keepalive_at = self.keepalive_deadline();
        // In this order: received data is handled before the keepalive is checked.
        tokio::select! {
            biased;
            transferred = self.socket.transfer(&mut self.endpoint) => {
                if transferred.map_err(|error| self.error(error))? {
                    self.last_received = Instant::now();
                    self.probed = None;
                    self.handle_events(waiting, state)?;
                }
            }
            () = sleep_until(keepalive_at) => self.check_keepalive()?,
            Some(request) = requests.recv(), if accepting => {
                let id = self.request(transact::METHOD, &request.content)?;
                waiting.add(id, request.answer);
            }
        }
        Ok(())
    }

    fn request(&mut self, method: &str, params: &impl serde::Serialize) -> Result<RequestId, Error> {
        self.endpoint.request(method, params).map_err(|source| Error::Wire { socket: self.path(), source })
    }

    /// Handles all received messages: updates are published before answers are delivered.
    fn handle_events(&mut self, waiting: &mut Waiting, state: &watch::Sender<State>) -> Result<(), Error> {
        let mut answers = Vec::new();
        let mut changed = false;
        let wire = |source: WireError| Error::Wire { socket: self.options.socket.clone(), source };
        while let Some(event) = self.endpoint.next_event().map_err(wire)? {
            match event {
                Event::Response { id, result } if Some(id) == self.monitor => {
                    self.apply_initial_dump(result)?;
                    self.monitor = None;
                    changed = true;
                }
                Event::Response { id, result } => answers.extend(waiting.remove(id).zip(Some(result))),
                Event::Notification { method, params } if method == monitor::UPDATE_METHOD => {
                    self.apply(monitor::parse_update(&params))?;
                    changed = true;
                }
                Event::Notification { method, .. } if method == monitor::CANCELED_METHOD => {
                    return Err(Error::MonitorCanceled { socket: self.path() });
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
            socket: self.path(),
            request: monitor::METHOD,
            error: error.into(),
        })?;
        self.apply(monitor::parse_reply(&dump))
    }

    fn apply(&mut self, updates: Result<Vec<monitor::RowUpdate>, crate::ParseError>) -> Result<(), Error> {
        let updates = updates.map_err(|source| Error::Monitor { socket: self.path(), source })?;
        let applied = Arc::make_mut(&mut self.snapshot.cache).apply(updates);
        applied.map_err(|source| Error::Cache { socket: self.path(), source })
    }

    fn keepalive_deadline(&self) -> Instant {
        self.probed.unwrap_or(self.last_received) + self.options.probe_after
    }

    fn check_keepalive(&mut self) -> Result<(), Error> {
        if self.probed.is_some() {
            return Err(Error::Timeout { socket: self.path(), request: "echo", limit: self.options.probe_after });
        }
        self.probed = Some(Instant::now());
        self.request("echo", &json!([])).map(drop)
    }

    fn error(&self, error: TransferError) -> Error {
        Error::transfer(self.socket.path(), transact::METHOD, error)
    }

    fn path(&self) -> PathBuf {
        self.socket.path().to_owned()
    }
}
