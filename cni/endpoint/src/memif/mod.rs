//! memif, version 2, the side that connects: it owns the memory and the rings.

mod connection;
mod endpoint;
mod protocol;
mod ring;

pub use endpoint::Endpoint;

use std::fmt;
use std::path::PathBuf;

/// The engine's socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    /// A file.
    File(PathBuf),
    /// A name in this network namespace.
    Abstract(String),
}

impl fmt::Display for Socket {
    /// An abstract socket is written with a leading `@`, as is usual.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Abstract(name) => write!(formatter, "@{name}"),
        }
    }
}

/// Which memif to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The engine's socket.
    pub socket: Socket,
    /// The number of the interface at that socket.
    pub id: u32,
    /// The secret; empty without one.
    pub secret: String,
    /// Whether packets have no Ethernet header.
    pub ip: bool,
}

/// Connects to a memif of an engine.
///
/// # Errors
/// When it does not listen, or refuses this interface: then with its reason.
pub fn connect(target: &Target) -> Result<Endpoint, crate::Error> {
    Endpoint::connect(target)
}
