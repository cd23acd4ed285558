//! One connection: a non-blocking socket and `poll(2)`, because only that reads while it writes and
//! supports a deadline.

use crate::Error;
use crate::reply::DatabaseError;
use crate::wire::{Endpoint, Event, WireError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use serde::Serialize;
use serde_json::Value as Json;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const READ_SIZE: usize = 64 << 10;
/// The kernel does not notify when the full backlog of a listening socket has room again.
const CONNECT_RETRY: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    endpoint: Endpoint,
    buffer: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    Timeout,
    Closed,
    Io(io::Error),
    Wire(WireError),
}

impl Failure {
    pub(super) fn into_error(self, socket: PathBuf, request: &'static str, limit: Duration) -> Error {
        match self {
            Self::Timeout => Error::Timeout { socket, request, limit },
            Self::Closed => Error::Closed { socket },
            Self::Io(source) => Error::Io { socket, source },
            Self::Wire(source) => Error::Wire { socket, source },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // A closed connection is an error instead of an end of file if data was still to be read or
        // written.
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl Connection {
    pub(super) fn open(path: &Path, deadline: Instant) -> Result<Self, Error> {
        let stream = open(path, deadline).map_err(|source| Error::Connect { socket: path.to_owned(), source })?;
        Ok(Self { stream, endpoint: Endpoint::default(), buffer: vec![0; READ_SIZE] })
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call(
        &mut self,
        method: &str,
        params: &impl Serialize,
        deadline: Instant,
    ) -> Result<Result<Json, DatabaseError>, Failure> {
        let request = self.endpoint.request(method, params)?;
        loop {
            while let Some(event) = self.endpoint.next_event()? {
                match event {
                    Event::Response { id, result } if id == request => return Ok(result),
                    Event::Response { .. } | Event::Notification { .. } => {}
                }
            }
            self.wait(deadline)?;
            self.write()?;
            self.read()?;
        }
    }

    /// Waits until the socket is readable, or writable if there is something to write.
    fn wait(&self, deadline: Instant) -> Result<(), Failure> {
        let mut interest = PollFlags::POLLIN;
        if !self.endpoint.outgoing().is_empty() {
            interest |= PollFlags::POLLOUT;
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::Timeout);
            }
            // Rounded up to a millisecond: the last fraction of one must not become a busy loop.
            let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.stream.as_fd(), interest)], timeout) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(Failure::Io(errno.into())),
            }
        }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let outgoing = self.endpoint.outgoing();
        if outgoing.is_empty() {
            return Ok(());
        }
        match self.stream.write(outgoing) {
            Ok(bytes) => self.endpoint.sent(bytes),
            Err(error) if would_block(&error) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), Failure> {
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(Failure::Closed),
            Ok(bytes) => {
                self.endpoint.receive(self.buffer.get(..bytes).unwrap_or_default());
                Ok(())
            }
            Err(error) if would_block(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The standard library's connect blocks indefinitely while the server does not accept, so the
/// socket is created explicitly.
fn open(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let descriptor = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    loop {
        match connect(descriptor.as_raw_fd(), &address) {
            Ok(()) => return Ok(UnixStream::from(descriptor)),
            Err(Errno::EAGAIN | Errno::EINTR) if Instant::now() < deadline => std::thread::sleep(CONNECT_RETRY),
            Err(Errno::EAGAIN | Errno::EINTR) => return Err(ErrorKind::TimedOut.into()),
            Err(errno) => return Err(errno.into()),
        }
    }
}
