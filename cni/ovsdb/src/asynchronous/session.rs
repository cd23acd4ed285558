//! A session and its handles.

use super::task;
use super::{Options, Snapshot, State};
use crate::transact::{self, Answer};
use crate::wire::WireError;
use crate::{Database, Error, Reply, Transaction};
use serde_json::value::{RawValue, to_raw_value};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use usnet_transport::asynchronous::{Caller, Task};

/// A running session. Its task ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    _task: Task,
}

/// Sends transactions to a session; can be cloned. The session ends although handles exist.
#[derive(Debug, Clone)]
pub struct Handle {
    socket: Arc<Path>,
    timeout: Duration,
    caller: Caller<Box<RawValue>, Result<Answer, Error>, State>,
}

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let reason = Arc::new(Error::NotYetConnected { socket: options.socket.clone() });
        let (caller, requests, state) = Caller::new(State::Disconnected { reason });
        let handle = Handle { socket: options.socket.as_path().into(), timeout: options.timeout, caller };
        Self { handle, _task: Task::start(task::run(options, requests, state)) }
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The session's state, with a way to wait for changes.
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

impl Handle {
    /// The session's state, with a way to wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.caller.state()
    }

    /// Waits until there is a connection and everything is read; indefinitely, if need be.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] when the session was dropped.
    pub async fn connected(&self) -> Result<Snapshot, Error> {
        self.caller.wait_for(|state| state.snapshot().cloned()).await.ok_or_else(|| self.ended())
    }

    /// Executes the transaction. On return [`Handle::state`] has its effect.
    ///
    /// Without a connection it fails at once with [`Error::NotSent`].
    ///
    /// # Errors
    /// [`Error::Transaction`] if the database did not commit; others if the request failed.
    pub async fn transact(&self, transaction: &Transaction) -> Result<Reply, Error> {
        let limit = transact::limit(self.timeout, transaction);
        let timeout = |_| Error::Timeout { socket: self.socket.to_path_buf(), request: transact::METHOD, limit };
        let answer = tokio::time::timeout(limit, self.exchange(transaction)).await.map_err(timeout)??;
        transact::read_answer(&self.socket, transaction, answer)
    }

    async fn exchange(&self, transaction: &Transaction) -> Result<Answer, Error> {
        let unwritable = |error| Error::Wire { socket: self.socket.to_path_buf(), source: WireError::Json(error) };
        let params = to_raw_value(transaction).map_err(unwritable)?;
        self.caller.call(params).await.ok_or_else(|| self.ended())?
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
