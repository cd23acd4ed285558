//! Paths of unix sockets.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Longest path of a unix socket, in bytes (`sun_path` without its NUL). Engines accept longer ones
/// and never connect.
pub const SOCKET_PATH_MAX: usize = 107;

/// A socket path that no engine could use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "socket path {} has {} bytes, and a unix socket takes at most {SOCKET_PATH_MAX}: use a shorter run directory",
    path.display(),
    path.as_os_str().len()
)]
pub struct SocketPathTooLong {
    path: PathBuf,
}

/// The path of a unix socket, short enough for the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct SocketPath(PathBuf);

impl SocketPath {
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl TryFrom<PathBuf> for SocketPath {
    type Error = SocketPathTooLong;
    fn try_from(path: PathBuf) -> Result<Self, SocketPathTooLong> {
        if path.as_os_str().len() <= SOCKET_PATH_MAX { Ok(Self(path)) } else { Err(SocketPathTooLong { path }) }
    }
}

impl From<SocketPath> for PathBuf {
    fn from(path: SocketPath) -> Self {
        path.0
    }
}
