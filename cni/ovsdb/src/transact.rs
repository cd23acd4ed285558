//! The method `transact` (RFC 7047 §4.1.3): what both clients share.

use crate::{DatabaseError, Error, Reply, Transaction, reply};
use serde_json::Value as Json;
use std::path::Path;
use std::time::Duration;

/// The method of the request.
pub(crate) const METHOD: &str = "transact";

/// What the server answered to a request.
pub(crate) type Answer = Result<Json, DatabaseError>;

/// A database that executes transactions: a blocking client, or the handle of a session.
pub trait Database {
    /// Executes the transaction and reads the answer, within a time that the implementation limits.
    ///
    /// The future of [`blocking::Client`](crate::blocking::Client) is ready at the first poll.
    fn transact(&mut self, transaction: &Transaction) -> impl Future<Output = Result<Reply, Error>> + Send;
}

/// How long a transaction may take: `timeout`, and the time that the transaction itself waits.
pub(crate) fn limit(timeout: Duration, transaction: &Transaction) -> Duration {
    timeout.saturating_add(transaction.longest_wait())
}

/// Reads the answer to a transaction.
pub(crate) fn read_answer(socket: &Path, transaction: &Transaction, answer: Answer) -> Result<Reply, Error> {
    let refused = |error| Error::Refused { socket: socket.to_owned(), request: METHOD, error: Box::new(error) };
    let failed = |source| Error::Transaction { socket: socket.to_owned(), source: Box::new(source) };
    reply::parse(transaction, &answer.map_err(refused)?).map_err(failed)
}
