//! Why a port cannot be used.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} socket {path}", path = path.display())]
    Socket {
        /// A verb, such as "listen on".
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no engine connected to {path} in time: is the port in the engine?", path = path.display())]
    NotConnected { path: PathBuf },
    #[error("the kernel refused {what}")]
    Resources {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("the engine refused {message}")]
    Negotiation {
        message: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the engine does not keep to the protocol: {0}")]
    Peer(String),
    #[error("{length} bytes at {offset} are not in the shared memory")]
    OutOfBounds { offset: usize, length: usize },
    #[error("a frame of {length} bytes is longer than {limit}")]
    TooLong { length: usize, limit: usize },
    #[error("the ring is full: the engine takes no frames")]
    Full,
    #[error("the engine closed the connection")]
    Disconnected,
}

impl Error {
    /// Returns a function for `map_err`.
    pub(crate) fn resources(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Resources { what, source }
    }
}
