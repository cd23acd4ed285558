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

    fn check(&self) -> Result<(), TransferError> {
        if self.left().is_zero() { Err(TransferError::Timeout { limit: self.limit }) } else { Ok(()) }
    }
}

/// A connected unix socket in which each wait has a deadline.
pub struct Socket {
    path: PathBuf,
    descriptor: OwnedFd,
    buffer: Vec<u8>,
    /// Whether the last read filled the buffer, so that there is more to read.
    has_more: bool,
}

impl Socket {
    /// Connects to the socket at `path`. The error is [`ErrorKind::TimedOut`] if the server's
    /// backlog is still full at the deadline. At most `read_size` bytes are read at once: programs
    /// without a runtime are short-lived, and a hundred of them may run at once, so that more than
    /// usual messages have would be wasted.
    pub fn connect(path: &Path, read_size: usize, deadline: &Deadline) -> io::Result<Self> {
        let descriptor = connect_until(path, deadline)?;
        Ok(Self { path: path.to_owned(), descriptor, buffer: vec![0; read_size], has_more: false })
    }

    /// Returns the path at which the server listens.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends what the socket takes of the protocol's bytes, waits until there is something to read
    /// or, if not all was sent, room to write, and reads what is there.
    pub fn transfer(&mut self, protocol: &mut impl Protocol, deadline: &Deadline) -> Result<(), TransferError> {
        let socket = self.descriptor.as_fd();
        send_some(socket, protocol)?;
        if self.has_more {
            deadline.check()?;
        } else {
            wait(socket, !protocol.outgoing().is_empty(), deadline)?;
        }
        self.has_more = receive_some(socket, protocol, &mut self.buffer)? == self.buffer.len();
        Ok(())
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
/// buffer of the caller. Destructors need it, because they cannot await anything. Returns whether
/// the peer has closed the connection.
pub fn transfer(
    socket: BorrowedFd<'_>,
    protocol: &mut impl Protocol,
    buffer: &mut [u8],
    deadline: &Deadline,
) -> Result<bool, TransferError> {
    send_some(socket, protocol)?;
    let is_closed = wait(socket, !protocol.outgoing().is_empty(), deadline)?;
    let received = receive_some(socket, protocol, buffer)?;
    Ok(is_closed && received < buffer.len())
}

/// Sends what the socket takes now, without waiting for room: there nearly always is.
fn send_some(socket: BorrowedFd<'_>, protocol: &mut impl Protocol) -> Result<(), TransferError> {
    if !protocol.outgoing().is_empty() {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        let written = unless_would_block(send(socket.as_raw_fd(), protocol.outgoing(), flags))?;
        protocol.sent(written.unwrap_or(0));
    }
    Ok(())
}

/// Reads what is there now. Returns the number of bytes.
fn receive_some(
    socket: BorrowedFd<'_>,
    protocol: &mut impl Protocol,
    buffer: &mut [u8],
) -> Result<usize, TransferError> {
    match unless_would_block(recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT))? {
        Some(0) => Err(TransferError::Closed),
        Some(bytes) => {
            protocol.receive(buffer.get(..bytes).unwrap_or_default());
            Ok(bytes)
        }
        None => Ok(0),
    }
}

/// Waits until the socket is readable, or writable if there is something to write. Returns whether
/// the peer has closed the connection.
fn wait(socket: BorrowedFd<'_>, writing: bool, deadline: &Deadline) -> Result<bool, TransferError> {
    let interest = if writing { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
    loop {
        deadline.check()?;
        let left = deadline.left();
        // Rounded up to a millisecond: the last fraction of one must not become a busy loop.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let mut watched = [PollFd::new(socket, interest)];
        match poll(&mut watched, timeout) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => {
                let [watched] = watched;
                return Ok(watched.revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)));
            }
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
