//! memif, version 2: the side that connects and owns the memory and the rings.

mod connection;
mod endpoint;
mod protocol;
mod ring;

pub use endpoint::Endpoint;

use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Socket {
    File(PathBuf),
    /// A name in the network namespace of this process.
    Abstract(String),
}

impl fmt::Display for Socket {
    /// Writes an abstract socket with a leading `@`, as `ss` and `netstat` do.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Abstract(name) => write!(formatter, "@{name}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub socket: Socket,
    /// Several interfaces of one socket are distinguished by this number.
    pub id: u32,
    /// Empty if the interface has no secret.
    pub secret: String,
    /// Whether packets have no Ethernet header.
    pub ip: bool,
}

/// # Errors
/// [`crate::Error::Negotiation`] with the engine's reason if it refuses this interface.
pub fn connect(target: &Target) -> Result<Endpoint, crate::Error> {
    Endpoint::connect(target)
}
