//! Errors of requests to the database.

use crate::monitor::CacheError;
use crate::reply::{DatabaseError, ErrorCode, TransactionError};
use crate::value::ParseError;
use crate::wire::WireError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use usnet_transport::TransferError;

/// Why a request to the database failed. [`Error::nothing_done`] tells whether it is safe to send
/// it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection was refused, or the server's backlog was full until the deadline.
    #[error("cannot connect to the database of Open vSwitch at {path}; is ovsdb-server running?", path = socket.display())]
    Connect {
        /// The database's socket.
        socket: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A session that was just started.
    #[error("not yet connected to the database of Open vSwitch at {path}", path = socket.display())]
    NotYetConnected {
        /// The database's socket.
        socket: PathBuf,
    },
    /// Reading or writing failed.
    #[error("lost the connection to the database of Open vSwitch at {path}", path = socket.display())]
    Io {
        /// The database's socket.
        socket: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The server closed the connection: it ended, or rejected what was sent.
    #[error("the database of Open vSwitch at {path} closed the connection", path = socket.display())]
    Closed {
        /// The database's socket.
        socket: PathBuf,
    },
    /// No answer in time. A transaction may have been committed nevertheless.
    #[error("no answer to {request} from the database of Open vSwitch at {path} within {limit:?}", path = socket.display())]
    Timeout {
        /// The database's socket.
        socket: PathBuf,
        /// The request's method.
        request: &'static str,
        /// The time it had.
        limit: Duration,
    },
    /// The peer does not speak OVSDB.
    #[error("cannot decode the data received from {path}", path = socket.display())]
    Wire {
        /// The database's socket.
        socket: PathBuf,
        /// What is wrong.
        #[source]
        source: WireError,
    },
    /// The request as a whole was refused: unknown database, unknown method, malformed parameters.
    #[error("the database at {path} refused {request}: {error}", path = socket.display())]
    Refused {
        /// The database's socket.
        socket: PathBuf,
        /// The request's method.
        request: &'static str,
        /// The error of the database.
        error: Box<DatabaseError>,
    },
    /// The transaction was not committed; nothing was changed.
    #[error("the database at {path} did not commit the transaction", path = socket.display())]
    Transaction {
        /// The database's socket.
        socket: PathBuf,
        /// Which operation failed, and the error of the database.
        #[source]
        source: Box<TransactionError>,
    },
    /// An update of the monitor does not have the documented form.
    #[error("cannot decode an update from the database at {path}", path = socket.display())]
    Monitor {
        /// The database's socket.
        socket: PathBuf,
        /// What is wrong.
        #[source]
        source: ParseError,
    },
    /// An update of the monitor does not match the updates before it.
    #[error("the cached copy of the database at {path} is inconsistent", path = socket.display())]
    Cache {
        /// The database's socket.
        socket: PathBuf,
        /// What is wrong.
        #[source]
        source: CacheError,
    },
    /// The server dropped the monitor, for example because the schema was changed.
    #[error("the database at {path} canceled the monitor", path = socket.display())]
    MonitorCanceled {
        /// The database's socket.
        socket: PathBuf,
    },
    /// The session is not connected; nothing was sent.
    #[error("the transaction was not sent: there is no connection to the database at {path}", path = socket.display())]
    NotSent {
        /// The database's socket.
        socket: PathBuf,
        /// Why there is no connection.
        #[source]
        source: Arc<Error>,
    },
    /// The session lost the connection before the answer. The transaction may have been committed
    /// or not.
    #[error("the connection to the database at {path} was lost before the transaction was answered", path = socket.display())]
    AnswerLost {
        /// The database's socket.
        socket: PathBuf,
        /// Why the connection was lost.
        #[source]
        source: Arc<Error>,
    },
    /// The session was dropped while its handle is used.
    #[error("the session with the database at {path} has ended", path = socket.display())]
    SessionEnded {
        /// The database's socket.
        socket: PathBuf,
    },
}

impl Error {
    /// The connection failed while `request` had no answer.
    pub(crate) fn transfer(socket: &Path, request: &'static str, error: TransferError) -> Self {
        let socket = socket.to_owned();
        match error {
            TransferError::Timeout { limit } => Self::Timeout { socket, request, limit },
            TransferError::Closed => Self::Closed { socket },
            TransferError::Io(source) => Self::Io { socket, source },
        }
    }

    /// The kind of error, if it is one of the database.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Refused { error, .. } => Some(&error.code),
            Self::Transaction { source, .. } => source.database().map(|error| &error.code),
            _ => None,
        }
    }

    /// Whether it is certain that nothing was changed. Otherwise read before retrying.
    #[must_use]
    pub fn nothing_done(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::NotYetConnected { .. } | Self::NotSent { .. } | Self::Refused { .. } => true,
            Self::Transaction { source, .. } => source.database().is_some(),
            _ => false,
        }
    }
}
