//! vhost-user: the program's side ("frontend"), which owns the memory and the rings, whichever side
//! listens on the socket.

mod endpoint;
mod layout;
mod negotiation;
mod receive_queue;
mod ring;
mod send_queue;

pub use endpoint::Endpoint;

use crate::Error;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A socket to which the engine connects. Dropping it removes the socket's file.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Listens on a socket. A file that an ended program left at `path` is replaced; a socket on
    /// which another program listens is not.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Socket { action: "listen on", path: path.to_owned(), source };
        let socket = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_abandoned(path) => {
                std::fs::remove_file(path).map_err(failed)?;
                UnixListener::bind(path)
            }
            bound => bound,
        };
        Ok(Self { socket: socket.map_err(failed)?, path: path.to_owned() })
    }

    /// Waits until the engine connects, and agrees with it on memory and rings.
    ///
    /// # Errors
    /// [`Error::NotConnected`] if no engine connected in time.
    pub fn accept(&self, timeout: Duration) -> Result<Endpoint, Error> {
        let failed = |source| Error::Socket { action: "accept on", path: self.path.clone(), source };
        let milliseconds = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        let mut descriptors = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut descriptors, milliseconds) {
            Ok(0) | Err(nix::Error::EINTR) => Err(Error::NotConnected { path: self.path.clone() }),
            Ok(_) => Endpoint::new(self.socket.accept().map_err(failed)?.0),
            Err(error) => Err(failed(io::Error::from(error))),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A file that stays is replaced by the next program.
        let _removed = std::fs::remove_file(&self.path);
    }
}

/// Connects to the socket of an engine that listens, and agrees with it on memory and rings.
pub fn connect(path: &Path) -> Result<Endpoint, Error> {
    let failed = |source| Error::Socket { action: "connect to", path: path.to_owned(), source };
    Endpoint::new(UnixStream::connect(path).map_err(failed)?)
}

fn is_abandoned(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
