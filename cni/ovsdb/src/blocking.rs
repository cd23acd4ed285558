//! A client without an async runtime: one request at a time, every wait with an end.

mod connection;
#[cfg(test)]
mod tests;

use crate::reply;
use crate::{Database, Error, Reply, Transaction};
use connection::Connection;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A connection to the database. It is made anew by the next request after it was lost.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    timeout: Duration,
    /// Nothing after a failure: what is left in it may belong to a request that nobody waits for.
    connection: Option<Connection>,
}

impl Client {
    /// Connects. `timeout` limits this and every later request; wait operations of a transaction add to it.
    ///
    /// # Errors
    /// [`Error::Connect`] when nobody answers at the socket.
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

    /// Does the transaction and reads the answer.
    ///
    /// # Errors
    /// [`Error::Transaction`] when the database did not commit; others when it could not be asked.
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

/// A future was expected to be ready at once and was not: it waits for something else than a blocking client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the future waits for something else than a blocking database client; it needs an async runtime")]
pub struct NotReady;

/// Runs a future that never has to wait, such as code on a [`Database`] that is a [`Client`], without a runtime.
///
/// # Errors
/// [`NotReady`] when it does have to wait.
pub fn ready<F: Future>(future: F) -> Result<F::Output, NotReady> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(NotReady),
    }
}
