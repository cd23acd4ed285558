//! A long-lived session with automatic reconnect: it distinguishes a restarted VPP from a lost
//! connection, and counts interface events.
//!
//! One task owns the connection. It reads while it writes, so that requests of several handles are
//! in flight at once.

mod connection;
mod instance;
mod task;

use crate::endpoint::Table;
use crate::{Answers, Api, Batch, Error, Message};
pub use instance::{Instance, SocketFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Batches that wait for the task; more of them wait in their callers.
const QUEUE: usize = 64;

/// What a session connects to, and its times.
#[derive(Debug, Clone)]
pub struct Options {
    /// VPP's socket.
    pub socket: PathBuf,
    /// How long connecting may take, and a batch on top of the time for its requests and those
    /// before it.
    pub timeout: Duration,
    /// After this time without received data a control ping is sent, which must be answered within
    /// `timeout`.
    pub probe_after: Duration,
    /// The first pause before connecting again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// The longest pause before connecting again.
    pub retry_max: Duration,
}

impl Options {
    /// 10 s for a batch, a probe after 5 s, pauses from 50 ms to 1 s.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            timeout: Duration::from_secs(10),
            probe_after: Duration::from_secs(5),
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(1),
        }
    }
}

/// What a session knows.
#[derive(Debug, Clone)]
pub enum State {
    /// There is no connection; the session keeps trying.
    Disconnected {
        /// Why.
        reason: Arc<Error>,
    },
    /// There is a connection, and interface events are subscribed to.
    Connected(Connected),
}

/// A VPP that a session is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The number of the connection, from 1.
    pub epoch: u64,
    /// VPP's release, such as `26.06-release`.
    pub version: String,
    /// Interface events since it was connected. When it grew, read the interfaces again.
    pub changes: u64,
    /// The run of VPP: equal until VPP is restarted, however often the session reconnects.
    pub instance: Instance,
    /// Whether this is another run of VPP than that of the connection before. The first one is not.
    pub restarted: bool,
}

impl State {
    /// The VPP, while there is a connection.
    #[must_use]
    pub const fn connected(&self) -> Option<&Connected> {
        match self {
            Self::Connected(connected) => Some(connected),
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
    requests: mpsc::Sender<Request>,
    state: watch::Receiver<State>,
    table: watch::Receiver<Arc<Table>>,
}

/// A batch on its way to the task.
#[derive(Debug)]
struct Request {
    batch: Batch,
    answer: oneshot::Sender<Result<Answers, Error>>,
}

/// What the task publishes.
#[derive(Debug)]
struct Published {
    state: watch::Sender<State>,
    /// What VPP knew when it was last connected.
    table: watch::Sender<Arc<Table>>,
}

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let (requests, receiver) = mpsc::channel(QUEUE);
        let reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
        let (state_sender, state) = watch::channel(State::Disconnected { reason });
        let (table_sender, table) = watch::channel(Arc::default());
        let published = Published { state: state_sender, table: table_sender };
        let handle = Handle { socket: options.socket.as_path().into(), requests, state, table };
        Self { handle, task: tokio::spawn(task::run(options, receiver, published)) }
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// What the session knows, with a way to wait for changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<State> {
        self.handle.states()
    }

    /// See [`Handle::connected`].
    ///
    /// # Errors
    /// As there.
    pub async fn connected(&self) -> Result<Connected, Error> {
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
    pub fn states(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Waits until there is a connection; indefinitely, if need be.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] when the session was dropped.
    pub async fn connected(&self) -> Result<Connected, Error> {
        let mut states = self.states();
        let connected = states.wait_for(|state| state.connected().is_some()).await.map_err(|_| self.ended())?;
        connected.connected().cloned().ok_or_else(|| self.ended())
    }

    /// Sends all requests of the batch and reads all answers.
    ///
    /// Without a connection it fails at once with [`Error::NotSent`]. If VPP does not answer in
    /// time, the connection is closed, since its state is unknown.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if VPP lacks a message, and then nothing was sent; others if the
    /// requests failed.
    pub async fn send(&self, batch: &Batch) -> Result<Answers, Error> {
        let (answer, receiver) = oneshot::channel();
        let request = Request { batch: batch.clone(), answer };
        self.requests.send(request).await.map_err(|_| self.ended())?;
        receiver.await.map_err(|_| self.ended())?
    }

    fn ended(&self) -> Error {
        Error::SessionEnded { socket: self.socket.to_path_buf() }
    }
}

impl Api for Handle {
    async fn send(&mut self, batch: &Batch) -> Result<Answers, Error> {
        Self::send(self, batch).await
    }

    fn supports<M: Message>(&self) -> bool {
        self.table.borrow().supports::<M>()
    }
}
