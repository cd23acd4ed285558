//! A client without an async runtime: one request at a time, every wait with an end.

mod connection;
#[cfg(test)]
mod tests;

use crate::reply;
use crate::{Database, Error, Reply, Transaction};
use connection::Connection;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A connection to the database. After a loss it is reestablished by the next request.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
    /// `None` after a failure: its buffers may hold the answer to an abandoned request.
    connection: Option<Connection>,
}

impl Client {
    /// Connects. `timeout` limits this and every later request; wait operations of a transaction
    /// add to it.
    ///
    /// # Errors
    /// [`Error::Connect`] if the connection is refused.
    pub fn connect(socket: impl Into<PathBuf>, timeout: Duration) -> Result<Self, Error> {
        let socket = socket.into();
        let connection = Some(Connection::open(&socket, Instant::now() + timeout)?);
        Ok(Self { socket, timeout, connection })
    }

    /// The database's socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Executes the transaction and reads the answer.
    ///
    /// # Errors
    /// [`Error::Transaction`] if the database did not commit; others if the request failed.
    pub fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        const REQUEST: &str = "transact";
        let limit = self.timeout.saturating_add(transaction.longest_wait());
        let deadline = Instant::now() + limit;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.socket, deadline)?,
        };
        let socket = || self.socket.clone();
        let answer = connection
            .call(REQUEST, transaction, deadline)
            .map_err(|failure| failure.into_error(socket(), REQUEST, limit))?;
        self.connection = Some(connection);
        let result = answer.map_err(|error| Error::Refused {
            socket: self.socket.clone(),
            request: REQUEST,
            error: Box::new(error),
        })?;
        reply::parse(transaction, &result)
            .map_err(|source| Error::Transaction { socket: self.socket.clone(), source: Box::new(source) })
    }
}

impl Database for Client {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        Self::transact(self, transaction)
    }
}
