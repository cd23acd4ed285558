//! Why bytes could not be transferred.

use std::io::{self, ErrorKind};
use std::time::Duration;

/// Why bytes could not be transferred. The connection cannot be used any more: it may hold part of
/// a request, or the answer to an abandoned one.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The deadline has passed.
    #[error("no answer within {limit:?}")]
    Timeout {
        /// The time that the whole exchange had.
        limit: Duration,
    },
    /// The server closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// Reading or writing failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for TransferError {
    fn from(error: io::Error) -> Self {
        // A closed connection is an error instead of an end of file if data was still to be read or
        // written.
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Io(error),
        }
    }
}
