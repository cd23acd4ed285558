//! Sockets that wait for connections.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// How much is read of a connection at once.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// Listens at a path. What is there is of one that ended.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
