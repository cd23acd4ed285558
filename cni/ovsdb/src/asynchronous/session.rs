//! A session and its handles.

use super::connection::Connection;
use super::{Options, Snapshot, State};
use crate::transact::{self, Answer};
use crate::wire::WireError;
use crate::{Database, Error, Reply, Transaction};
use serde_json::value::to_raw_value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use usnet_transport::asynchronous::{Caller, Settings, Task, start};

/// A running session. Dropping it ends its task.
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    _task: Task,
}

/// Sends transactions to a session. It can be cloned, and the session ends although handles exist.
#[derive(Debug, Clone)]
pub struct Handle {
    caller: Caller<Connection>,
    timeout: Duration,
}

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let timeout = options.timeout;
        let settings = Settings {
            socket: options.socket.clone(),
            connect_timeout: timeout,
            retry_min: options.retry_min,
            retry_max: options.retry_max,
        };
        let (caller, task) = start(Arc::new(options), settings);
        Self { handle: Handle { caller, timeout }, _task: task }
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.handle.state()
    }

    pub async fn transact(&self, transaction: &Transaction) -> Result<Reply, Error> {
        self.handle.transact(transaction).await
    }

    pub async fn connected(&self) -> Result<Snapshot, Error> {
        self.handle.connected().await
    }
}

impl Handle {
    /// Returns the state of the session, with a way to wait for changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.caller.state()
    }

    /// Waits indefinitely until there is a connection and all rows are read.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] if the session was dropped.
    pub async fn connected(&self) -> Result<Snapshot, Error> {
        self.caller.connected().await
    }

    /// Executes the transaction. On return [`Handle::state`] has its effect. Without a connection
    /// it fails at once with [`Error::NotSent`].
    ///
    /// # Errors
    /// [`Error::Transaction`] if the database did not commit; others if the request failed.
    pub async fn transact(&self, transaction: &Transaction) -> Result<Reply, Error> {
        let socket = self.caller.socket();
        let limit = transact::limit(self.timeout, transaction);
        let timeout = |_| Error::Timeout { socket: socket.to_owned(), request: transact::METHOD, limit };
        let answer = tokio::time::timeout(limit, self.exchange(transaction)).await.map_err(timeout)??;
        transact::read_answer(socket, transaction, answer)
    }

    async fn exchange(&self, transaction: &Transaction) -> Result<Answer, Error> {
        let unwritable =
            |error| Error::Wire { socket: self.caller.socket().to_owned(), source: WireError::Json(error) };
        self.caller.call(to_raw_value(transaction).map_err(unwritable)?).await
    }
}

impl Database for Handle {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        Self::transact(self, transaction).await
    }
}
