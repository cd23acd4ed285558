//! The options of a session.

use crate::{DATABASE, Table, schema};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Options {
    pub socket: PathBuf,
    pub database: &'static str,
    /// The tables to watch.
    pub tables: Vec<&'static Table>,
    /// The time for connecting, and for a transaction in addition to its wait operations.
    pub timeout: Duration,
    /// After this time without received data, an echo (RFC 7047 §4.1.11) is sent; after the same
    /// time again, the connection is closed.
    pub probe_after: Duration,
    /// The first pause before reconnecting. It doubles up to `retry_max`.
    pub retry_min: Duration,
    pub retry_max: Duration,
}

impl Options {
    /// Watches all tables of [`schema::TABLES`].
    /// - A transaction has 10 s: the database answers in milliseconds, and a shorter limit could
    ///   make the outcome of a transaction unknown on a node that is only busy.
    /// - A probe is sent after 5 s: one request in that time costs nothing, and a server that hangs
    ///   is noticed after 10 s.
    /// - Pauses are from 50 ms, so that a restarted server is connected to at once, to 2 s: each
    ///   connection reads all tables again.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            database: DATABASE,
            tables: schema::TABLES.to_vec(),
            timeout: Duration::from_secs(10),
            probe_after: Duration::from_secs(5),
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(2),
        }
    }
}
