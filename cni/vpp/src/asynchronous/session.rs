//! A session and its handles.

use super::state::Published;
use super::task;
use super::{Connected, Options, State};
use crate::endpoint::Table;
use crate::{Answers, Api, Batch, Error, Message};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use usnet_transport::asynchronous::{Caller, Task};

/// A running session. Its task ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    _task: Task,
}

/// Sends batches to a session; can be cloned. The session ends although handles exist.
#[derive(Debug, Clone)]
pub struct Handle {
    socket: Arc<Path>,
    caller: Caller<Batch, Result<Answers, Error>, State>,
    table: watch::Receiver<Arc<Table>>,
}

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
        let (caller, requests, state) = Caller::new(State::Disconnected { reason });
        let (table_sender, table) = watch::channel(Arc::default());
        let published = Published { state, table: table_sender };
        let handle = Handle { socket: options.socket.as_path().into(), caller, table };
        Self { handle, _task: Task::start(task::run(options, requests, published)) }
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The session's state, with a way to wait for changes.
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

impl Handle {
    /// The session's state, with a way to wait for changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<State> {
        self.caller.state()
    }

    /// Waits until there is a connection; indefinitely, if need be.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] when the session was dropped.
    pub async fn connected(&self) -> Result<Connected, Error> {
        self.caller.wait_for(|state| state.connected().cloned()).await.ok_or_else(|| self.ended())
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
        self.caller.call(batch.clone()).await.ok_or_else(|| self.ended())?
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
