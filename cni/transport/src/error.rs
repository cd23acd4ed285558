//! Errors of a transfer.

use std::io::{self, ErrorKind};
use std::time::Duration;

/// The error of a transfer of bytes. The connection cannot be used any more: it may hold part of a
/// request, or the answer to an abandoned one.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("no answer within {limit:?}")]
    Timeout {
        /// The time of the whole exchange.
        limit: Duration,
    },
    #[error("the connection was closed")]
    Closed,
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
