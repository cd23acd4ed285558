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

/// The error of a request to the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection was refused, or the server's backlog was full until the deadline.
    #[error("cannot connect to the database of Open vSwitch at {path}; is ovsdb-server running?", path = socket.display())]
    Connect {
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The session was just started.
    #[error("not yet connected to the database of Open vSwitch at {path}", path = socket.display())]
    NotYetConnected { socket: PathBuf },
    #[error("lost the connection to the database of Open vSwitch at {path}", path = socket.display())]
    Io {
        socket: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The server ended, or rejected the request.
    #[error("the database of Open vSwitch at {path} closed the connection", path = socket.display())]
    Closed { socket: PathBuf },
    /// A transaction may have been committed nevertheless.
    #[error("no answer to {request} from the database of Open vSwitch at {path} within {limit:?}", path = socket.display())]
    Timeout { socket: PathBuf, request: &'static str, limit: Duration },
    /// The peer does not speak OVSDB.
    #[error("cannot decode the data received from {path}", path = socket.display())]
    Wire {
        socket: PathBuf,
        #[source]
        source: WireError,
    },
    /// The request as a whole was refused: unknown database, unknown method, malformed parameters.
    #[error("the database at {path} refused {request}: {error}", path = socket.display())]
    Refused { socket: PathBuf, request: &'static str, error: Box<DatabaseError> },
    /// Nothing was changed.
    #[error("the database at {path} did not commit the transaction", path = socket.display())]
    Transaction {
        socket: PathBuf,
        /// The failed operation, and the error of the database.
        #[source]
        source: Box<TransactionError>,
    },
    #[error("cannot decode an update from the database at {path}", path = socket.display())]
    Monitor {
        socket: PathBuf,
        #[source]
        source: ParseError,
    },
    /// An update of the monitor does not match earlier updates.
    #[error("the cached copy of the database at {path} is inconsistent", path = socket.display())]
    Cache {
        socket: PathBuf,
        #[source]
        source: CacheError,
    },
    /// The reason may be a change of the schema.
    #[error("the database at {path} canceled the monitor", path = socket.display())]
    MonitorCanceled { socket: PathBuf },
    #[error("the transaction was not sent: there is no connection to the database at {path}", path = socket.display())]
    NotSent {
        socket: PathBuf,
        /// The reason why there is no connection.
        #[source]
        source: Arc<Error>,
    },
    /// The transaction may have been committed or not.
    #[error("the connection to the database at {path} was lost before the transaction was answered", path = socket.display())]
    AnswerLost {
        socket: PathBuf,
        /// The reason why the connection was lost.
        #[source]
        source: Arc<Error>,
    },
    /// The session was dropped while its handle is used.
    #[error("the session with the database at {path} has ended", path = socket.display())]
    SessionEnded { socket: PathBuf },
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

    /// Returns the database's code, if the error is one of the database.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Refused { error, .. } => Some(&error.code),
            Self::Transaction { source, .. } => source.database().map(|error| &error.code),
            _ => None,
        }
    }
}
