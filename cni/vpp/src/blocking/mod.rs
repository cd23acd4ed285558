//! A client without an async runtime: one batch at a time, every wait with an end.

mod connection;

use crate::endpoint::Table;
use crate::{Answers, Api, Batch, Error, Message};
use connection::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection to VPP. After a loss it is reestablished by the next batch.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
    /// What VPP knew when it was last connected.
    table: Arc<Table>,
    /// `None` after a failure: its buffers may hold the answer to an abandoned batch.
    connection: Option<Connection>,
}

impl Client {
    /// Connects and reads the message table. `timeout` limits this and every later batch, which has
    /// a little more for each of its requests.
    ///
    /// # Errors
    /// [`Error::Connect`] if the connection is refused; others if the peer is not VPP.
    pub fn connect(socket: impl Into<PathBuf>, timeout: Duration) -> Result<Self, Error> {
        let socket = socket.into();
        let (connection, table) = Connection::open(&socket, Instant::now() + timeout)
            .map_err(|failure| failure.into_error(&socket, timeout))?;
        Ok(Self { socket, timeout, table, connection: Some(connection) })
    }

    /// VPP's socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sends all requests of the batch and reads all answers.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if VPP lacks a message, and then nothing was sent; others if the
    /// requests failed.
    pub fn send(&mut self, batch: &Batch) -> Result<Answers, Error> {
        let limit = self.timeout.saturating_add(crate::endpoint::timeout_for(batch.len()));
        self.exchange(batch, Instant::now() + limit).map_err(|failure| failure.into_error(&self.socket, limit))
    }

    fn exchange(&mut self, batch: &Batch, deadline: Instant) -> Result<Answers, connection::Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let (connection, table) = Connection::open(&self.socket, deadline)?;
                self.table = table;
                connection
            }
        };
        let answers = connection.exchange(batch, deadline);
        if matches!(answers, Ok(_) | Err(connection::Failure::Unknown(_))) {
            self.connection = Some(connection);
        }
        answers
    }
}

/// Shuts the connection down, which takes as long as a request, and 200 ms if VPP hangs.
impl Drop for Client {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
    }
}

impl Api for Client {
    async fn send(&mut self, batch: &Batch) -> Result<Answers, Error> {
        Self::send(self, batch)
    }

    fn supports<M: Message>(&self) -> bool {
        self.table.supports::<M>()
    }
}
