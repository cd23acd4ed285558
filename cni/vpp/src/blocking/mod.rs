//! A client without an async runtime: one batch at a time, and each wait has a deadline.

mod connection;

use crate::endpoint::{self, Table};
use crate::{Answers, Api, Batch, Error, Message};
use connection::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usnet_transport::blocking::Deadline;

/// A connection to VPP. After a loss, the next batch reconnects.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
    /// The messages that VPP knew when it was last connected.
    table: Arc<Table>,
    /// There is none after a failure: its buffers may hold the answer to an abandoned batch.
    connection: Option<Connection>,
}

impl Client {
    /// Connects and reads the message table. `timeout` limits this and every later batch, which has
    /// a little more for each of its requests.
    pub fn connect(socket: impl Into<PathBuf>, timeout: Duration) -> Result<Self, Error> {
        let socket = socket.into();
        let (connection, table) = Connection::open(&socket, &Deadline::after(timeout))?;
        Ok(Self { socket, timeout, table, connection: Some(connection) })
    }

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
        let deadline = Deadline::after(self.timeout.saturating_add(endpoint::timeout_for(batch.len())));
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let (connection, table) = Connection::open(&self.socket, &deadline)?;
                self.table = table;
                connection
            }
        };
        let answers = connection.exchange(batch, &deadline);
        // If the batch is unsupported, nothing was sent, and the connection can still be used.
        if matches!(answers, Ok(_) | Err(Error::Unsupported { .. })) {
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
