//! A client without an async runtime: one request at a time, and each wait has a deadline.

mod connection;
#[cfg(test)]
mod tests;

use crate::{Database, Error, Reply, Transaction, transact};
use connection::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_transport::blocking::Deadline;

/// A connection to the database. After a loss, the next request reconnects.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
    /// There is none after a failure: its buffers may hold the answer to an abandoned request.
    connection: Option<Connection>,
}

impl Client {
    /// Connects. `timeout` limits this and every later request; wait operations of a transaction
    /// extend it.
    pub fn connect(socket: impl Into<PathBuf>, timeout: Duration) -> Result<Self, Error> {
        let socket = socket.into();
        let connection = Some(Connection::open(&socket, &Deadline::after(timeout))?);
        Ok(Self { socket, timeout, connection })
    }

    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Executes the transaction and reads the answer.
    ///
    /// # Errors
    /// [`Error::Transaction`] if the database did not commit; others if the request failed.
    pub fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        let deadline = Deadline::after(transact::limit(self.timeout, transaction));
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.socket, &deadline)?,
        };
        let answer = connection.call(transact::METHOD, transaction, &deadline)?;
        self.connection = Some(connection);
        transact::read_answer(&self.socket, transaction, answer)
    }
}

impl Database for Client {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        Self::transact(self, transaction)
    }
}
