//! Why a port cannot be used.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a port cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A socket could not be created, connected or used.
    #[error("cannot {action} socket {path}", path = path.display())]
    Socket {
        /// What was tried, such as "listen on".
        action: &'static str,
        /// The socket.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No engine connected.
    #[error("no engine connected to {path} within {limit:?}: is the port in the engine?", path = path.display())]
    NotConnected {
        /// The socket.
        path: PathBuf,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The kernel gave no memory, eventfd or epoll.
    #[error("cannot create {what}")]
    Resources {
        /// What was asked for.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The two sides could not agree.
    #[error("the engine refused {message}")]
    Negotiation {
        /// The message that failed.
        message: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The engine sent or wrote something that cannot be true.
    #[error("the engine does not keep to the protocol: {0}")]
    Peer(String),
    /// An access outside of the shared memory.
    #[error("{length} bytes at {offset} are not in the shared memory")]
    OutOfBounds {
        /// Where.
        offset: usize,
        /// How many.
        length: usize,
    },
    /// A frame that does not fit a buffer.
    #[error("a frame of {length} bytes is longer than {limit}")]
    TooLong {
        /// The frame's.
        length: usize,
        /// The longest that fits.
        limit: usize,
    },
    /// The engine has not taken the frames before.
    #[error("the ring is full: the engine takes no frames")]
    Full,
    /// The engine closed the connection.
    #[error("the engine closed the connection")]
    Disconnected,
}

impl Error {
    /// For `map_err`, of a resource that the kernel did not give.
    pub(crate) fn resources(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Resources { what, source }
    }
}
