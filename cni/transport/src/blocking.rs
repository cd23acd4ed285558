//! A non-blocking socket and `poll(2)`, because only that reads while it writes and supports a
//! deadline.

use crate::{Protocol, TransferError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, recv, send, socket};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The pause before the next attempt while the backlog of the listening socket is full: the kernel
/// does not report when it has room. Shorter would use a processor for nothing, longer would add to
/// the time of an ADD.
const CONNECT_RETRY: Duration = Duration::from_millis(2);

/// The most bytes that are read at once. Programs without a runtime are short-lived, and a hundred
/// of them may run at once: more would be memory that each uses for one message.
const READ_SIZE: usize = 16 << 10;

/// The end of the time for an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// Returns the deadline of an exchange that starts now.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// A connected unix socket in which each wait has a deadline.
pub struct Socket {
    path: PathBuf,
    descriptor: OwnedFd,
    buffer: Vec<u8>,
}

impl Socket {
    /// Connects to the socket at `path`. The error is [`ErrorKind::TimedOut`] if the server's
    /// backlog is still full at the deadline.
    pub fn connect(path: &Path, deadline: &Deadline) -> io::Result<Self> {
        let descriptor = connect_until(path, deadline)?;
        Ok(Self { path: path.to_owned(), descriptor, buffer: vec![0; READ_SIZE] })
    }

    /// Returns the path at which the server listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until bytes can be moved between the protocol and the socket, and moves some.
    pub fn transfer(&mut self, protocol: &mut impl Protocol, deadline: &Deadline) -> Result<(), TransferError> {
        transfer(self.descriptor.as_fd(), protocol, &mut self.buffer, deadline)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Leaves the buffer out: an answer in it may contain a secret.
impl Debug for Socket {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Socket").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Works like [`Socket::transfer`], on any connected socket, blocking or not, and with the read
/// buffer of the caller. Destructors need it, because they cannot await anything.
pub fn transfer(
    socket: BorrowedFd<'_>,
    protocol: &mut impl Protocol,
    buffer: &mut [u8],
    deadline: &Deadline,
) -> Result<(), TransferError> {
    wait(socket, !protocol.outgoing().is_empty(), deadline)?;
    if !protocol.outgoing().is_empty() {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let written = unless_would_block(send(socket.as_raw_fd(), protocol.outgoing(), flags))?;
        protocol.sent(written.unwrap_or(0));
    }
    match unless_would_block(recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT))? {
        Some(0) => return Err(TransferError::Closed),
        Some(bytes) => protocol.receive(buffer.get(..bytes).unwrap_or_default()),
        None => {}
    }
    Ok(())
}

/// Waits until the socket is readable, or writable if there is something to write.
fn wait(socket: BorrowedFd<'_>, writing: bool, deadline: &Deadline) -> Result<(), TransferError> {
    let interest = if writing { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
    loop {
        let left = deadline.left();
        if left.is_zero() {
            return Err(TransferError::Timeout { limit: deadline.limit });
        }
        // Rounded up to a millisecond: the last fraction of one must not become a busy loop.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(socket, interest)], timeout) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(TransferError::Io(errno.into())),
        }
    }
}

/// Returns `None` instead of the error that the socket is not ready.
fn unless_would_block(moved: nix::Result<usize>) -> io::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Creates the socket explicitly, because the standard library's connect blocks indefinitely while
/// the server does not accept.
fn connect_until(path: &Path, deadline: &Deadline) -> io::Result<OwnedFd> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let descriptor = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    loop {
        match connect(descriptor.as_raw_fd(), &address) {
            Ok(()) => return Ok(descriptor),
            Err(Errno::EAGAIN | Errno::EINTR) if !deadline.left().is_zero() => std::thread::sleep(CONNECT_RETRY),
            Err(Errno::EAGAIN | Errno::EINTR) => return Err(ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
}
