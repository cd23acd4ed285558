//! A connected unix socket on tokio.

use crate::{Protocol, TransferError};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The most bytes that are read at once. An initial dump of 10,000 ports is 3 MiB: less would need
/// more reads, more would be memory in each connection of the agent.
const READ_SIZE: usize = 64 << 10;

pub(super) struct Socket {
    path: PathBuf,
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Socket {
    /// Connects to the socket at `path`. The error is [`ErrorKind::TimedOut`] if the server's
    /// backlog is still full after `limit`.
    pub(super) async fn connect(path: &Path, limit: Duration) -> io::Result<Self> {
        let connected = timeout(limit, UnixStream::connect(path)).await;
        let stream = connected.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))?;
        Ok(Self { path: path.to_owned(), stream, buffer: vec![0; READ_SIZE] })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until bytes can be moved between the protocol and the socket, and moves some. Returns
    /// whether some were read.
    ///
    /// It waits indefinitely; the caller has to limit it. It is cancel safe: nothing is lost if the
    /// future is dropped while it waits.
    pub(super) async fn transfer(&mut self, protocol: &mut impl Protocol) -> Result<bool, TransferError> {
        let writing = !protocol.outgoing().is_empty();
        let interest = if writing { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let ready = self.stream.ready(interest).await?;
        if ready.is_writable() && writing {
            let written = unless_would_block(self.stream.try_write(protocol.outgoing()))?;
            protocol.sent(written.unwrap_or(0));
        }
        if !ready.is_readable() {
            return Ok(false);
        }
        match unless_would_block(self.stream.try_read(&mut self.buffer))? {
            Some(0) => Err(TransferError::Closed),
            Some(bytes) => {
                protocol.receive(self.buffer.get(..bytes).unwrap_or_default());
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Leaves the buffer out: an answer in it may contain a secret.
impl Debug for Socket {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Socket").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns `None` instead of the error that the socket is not ready.
fn unless_would_block(moved: io::Result<usize>) -> io::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
