//! A session and its handles.

use super::connection::{Connection, Context};
use super::{Connected, Options, State};
use crate::endpoint::Table;
use crate::{Answers, Api, Batch, Error, Message};
use std::sync::Arc;
use tokio::sync::watch;
use usnet_transport::asynchronous::{Caller, Settings, Task, start};

/// A running session. Dropping it ends its task.
#[derive(Debug)]
pub struct Session {
    handle: Handle,
    _task: Task,
}

/// Sends batches to a session. It can be cloned, and the session ends although handles exist.
#[derive(Debug, Clone)]
pub struct Handle {
    caller: Caller<Connection>,
    /// The messages that VPP knew when it was last connected.
    table: watch::Receiver<Arc<Table>>,
}

impl Session {
    /// Starts the task on the current tokio runtime (of either kind). It connects at once, and
    /// retries indefinitely.
    #[must_use = "the session ends when it is dropped"]
    pub fn start(options: Options) -> Self {
        let settings = Settings {
            socket: options.socket.clone(),
            connect_timeout: options.timeout,
            retry_min: options.retry_min,
            retry_max: options.retry_max,
        };
        let (table, known) = watch::channel(Arc::default());
        let context = Context { options: Arc::new(options), table, last_instance: None };
        let (caller, task) = start(context, settings);
        Self { handle: Handle { caller, table: known }, _task: task }
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    #[must_use]
    pub fn states(&self) -> watch::Receiver<State> {
        self.handle.states()
    }

    pub async fn connected(&self) -> Result<Connected, Error> {
        self.handle.connected().await
    }
}

impl Handle {
    /// Returns the state of the session, with a way to wait for changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<State> {
        self.caller.state()
    }

    /// Waits indefinitely until there is a connection.
    ///
    /// # Errors
    /// [`Error::SessionEnded`] if the session was dropped.
    pub async fn connected(&self) -> Result<Connected, Error> {
        self.caller.connected().await
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
        self.caller.call(batch.clone()).await
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
