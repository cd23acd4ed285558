//! A long-lived session with automatic reconnect: it watches tables and keeps a copy of them.
//!
//! One task owns the connection. It reads while it writes, and publishes the monitor's updates
//! before it delivers an answer: after [`Handle::transact`] the published copy has the
//! transaction's effect.

mod connection;
mod task;

use crate::reply;
use crate::{Cache, DATABASE, Database, DatabaseError, Error, Reply, Table, Transaction, schema};
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Transactions that wait for the task; more of them wait in their callers.
const QUEUE: usize = 64;
const REQUEST: &str = "transact";

/// What a session connects to, and its times.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database's socket.
    pub socket: PathBuf,
    /// The database.
    pub database: &'static str,
    /// The tables to watch.
    pub tables: Vec<&'static Table>,
    /// How long connecting may take, and a transaction on top of its wait operations.
    pub timeout: Duration,
    /// After this time without received data an echo is sent; after the same time again the
    /// connection is closed.
    pub probe_after: Duration,
    /// The first pause before connecting again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// The longest pause before connecting again.
    pub retry_max: Duration,
}

impl Options {
    /// All tables of [`schema::TABLES`], 10 s for a transaction, a probe after 5 s, pauses from 50
    /// ms to 2 s.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            database: DATABASE,
            tables: schema::TABLES.to_vec(),
            timeout: Duration::from_secs(10),
            probe_after: Duration::from_secs(5),
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(2),
        }
    }
}

/// The state of a session. Without a connection there is no copy at all: a stale one could be
/// mistaken for the present state.
#[derive(Debug, Clone)]
pub enum State {
    /// There is no connection; the session keeps trying.
    Disconnected {
        /// Why.
        reason: Arc<Error>,
    },
    /// There is a connection, and all rows were read over it.
    Connected(Snapshot),
}

/// A copy of the watched tables at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The number of the connection, from 1: if it changed, everything was read again.
    pub epoch: u64,
    /// The rows.
    pub cache: Arc<Cache>,
}

impl State {
    /// The copy, while there is a connection.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Connected(snapshot) => Some(snapshot),
            Self::Disconnected { .. } => None,
        }
    }
}

/// A running session. Its task ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    task: JoinHandle<()>,
}

/// A way to use a session from several places. It does not keep the session alive.
#[derive(Debug, Clone)]
pub struct Handle {
    socket: Arc<Path>,
    timeout: Duration,
    requests: mpsc::Sender<Request>,
    state: watch::Receiver<State>,
}

/// A transaction on its way to the task.
#[derive(Debug)]
struct Request {
    params: Box<RawValue>,
    answer: oneshot::Sender<Result<Answer, Error>>,
}

/// What the server answered to a request.
type Answer = Result<Json, DatabaseError>;

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let (requests, receiver) = mpsc::channel(QUEUE);
        let reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
        let (sender, state) = watch::channel(State::Disconnected { reason });
        let handle = Handle { socket: options.socket.as_path().into(), timeout: options.timeout, requests, state };
        Self { handle, task: tokio::spawn(task::run(options, receiver, sender)) }
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// What the session knows, with a way to wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.handle.state()
    }

    /// See [`Handle::transact`].
    ///
    /// # Errors
    /// As there.
    pub async fn transact(&self, transaction: &Transaction) -> Result<Reply, Error> {
        self.handle.transact(transaction).await
    }

    /// See [`Handle::connected`].
    ///
    /// # Errors
    /// As there.
    pub async fn connected(&self) -> Result<Snapshot, Error> {
        self.handle.connected().await
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Handle {
    /// What the session knows, with a way to wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Waits until there is a connection and everything is read; indefinitely, if need be.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] when the session was dropped.
    pub async fn connected(&self) -> Result<Snapshot, Error> {
        let mut state = self.state();
        let connected = state.wait_for(|state| state.snapshot().is_some()).await.map_err(|_| self.ended())?;
        connected.snapshot().cloned().ok_or_else(|| self.ended())
    }

    /// Executes the transaction. On return [`Handle::state`] has its effect.
    ///
    /// Without a connection it fails at once with [`Error::NotSent`].
    ///
    /// # Errors
    /// [`Error::Transaction`] if the database did not commit; others if the request failed.
    pub async fn transact(&self, transaction: &Transaction) -> Result<Reply, Error> {
        let limit = self.timeout.saturating_add(transaction.longest_wait());
        let timeout = |_| Error::Timeout { socket: self.socket.to_path_buf(), request: REQUEST, limit };
        let answer = tokio::time::timeout(limit, self.exchange(transaction)).await.map_err(timeout)??;
        let socket = || self.socket.to_path_buf();
        let result =
            answer.map_err(|error| Error::Refused { socket: socket(), request: REQUEST, error: error.into() })?;
        reply::parse(transaction, &result)
            .map_err(|source| Error::Transaction { socket: socket(), source: source.into() })
    }

    async fn exchange(&self, transaction: &Transaction) -> Result<Answer, Error> {
        let unwritable =
            |error| Error::Wire { socket: self.socket.to_path_buf(), source: crate::wire::WireError::Json(error) };
        let params = to_raw_value(transaction).map_err(unwritable)?;
        let (answer, receiver) = oneshot::channel();
        self.requests.send(Request { params, answer }).await.map_err(|_| self.ended())?;
        receiver.await.map_err(|_| self.ended())?
    }

    fn ended(&self) -> Error {
        Error::SessionEnded { socket: self.socket.to_path_buf() }
    }
}

impl Database for Handle {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        Self::transact(self, transaction).await
    }
}
