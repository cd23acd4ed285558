//! The method `transact` (RFC 7047 §4.1.3) for both clients.

use crate::{DatabaseError, Error, Reply, Transaction, reply};
use serde_json::Value as Json;
use std::path::Path;
use std::time::Duration;

pub(crate) const METHOD: &str = "transact";

/// The answer to a request.
pub(crate) type Answer = Result<Json, DatabaseError>;

/// A database that executes transactions: a blocking client, or the handle of a session.
pub trait Database {
    /// Executes the transaction and reads the answer. The implementation limits the time.
    ///
    /// The future of [`blocking::Client`](crate::blocking::Client) is ready at the first poll.
    fn transact(&mut self, transaction: &Transaction) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// Adds the time of the wait operations to `timeout`.
pub(crate) fn limit(timeout: Duration, transaction: &Transaction) -> Duration {
    timeout.saturating_add(transaction.longest_wait())
}

pub(crate) fn read_answer(socket: &Path, transaction: &Transaction, answer: Answer) -> Result<Reply, Error> {
    let refused = |error| Error::Refused { socket: socket.to_owned(), request: METHOD, error: Box::new(error) };
    let failed = |source| Error::Transaction { socket: socket.to_owned(), source: Box::new(source) };
    reply::parse(transaction, &answer.map_err(refused)?).map_err(failed)
}
