//! One connection: a non-blocking socket and `poll(2)`, because only that reads while it writes and
//! supports a deadline.

use crate::endpoint::{Endpoint, Event, Table, Unknown};
use crate::error::ProtocolError;
use crate::{Answers, Batch, Error, shutdown};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const READ_SIZE: usize = 64 << 10;
/// The kernel does not notify when the full backlog of a listening socket has room again.
const CONNECT_RETRY: Duration = Duration::from_millis(2);

pub(super) struct Connection {
    stream: UnixStream,
    endpoint: Endpoint,
    buffer: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    Connect(io::Error),
    Timeout(&'static str),
    Closed,
    Io(io::Error),
    Protocol(ProtocolError),
    Unknown(Unknown),
}

impl Failure {
    pub(super) fn into_error(self, socket: &Path, limit: Duration) -> Error {
        let socket = socket.to_owned();
        match self {
            Self::Connect(source) => Error::Connect { socket, source },
            Self::Timeout(request) => Error::Timeout { socket, request, limit },
            Self::Closed => Error::Closed { socket },
            Self::Io(source) => Error::Io { socket, source },
            Self::Protocol(source) => Error::Protocol { socket, source },
            Self::Unknown(unknown) => unknown.into_error(socket),
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

impl Connection {
    /// Connects and reads the table.
    pub(super) fn open(path: &Path, deadline: Instant) -> Result<(Self, Arc<Table>), Failure> {
        let stream = open(path, deadline).map_err(Failure::Connect)?;
        let mut connection = Self { stream, endpoint: Endpoint::new(), buffer: vec![0; READ_SIZE] };
        loop {
            if let Some(Event::Ready(table)) = connection.next_event(deadline)? {
                return Ok((connection, table));
            }
        }
    }

    /// Sends a batch and waits for its answers.
    pub(super) fn exchange(&mut self, batch: &Batch, deadline: Instant) -> Result<Answers, Failure> {
        let submitted = self.endpoint.submit(batch.clone()).map_err(Failure::Unknown)?;
        loop {
            match self.next_event(deadline)? {
                Some(Event::Answered { batch, answers }) if batch == submitted => return Ok(answers),
                Some(Event::Answered { .. } | Event::Ready(_) | Event::InterfaceChanged) | None => {}
            }
        }
    }

    /// Shuts the connection down in the way that VPP needs.
    pub(super) fn close(mut self) {
        shutdown::close(&mut self.endpoint, &self.stream);
    }

    /// The next received event; `None` after a wait for more data.
    fn next_event(&mut self, deadline: Instant) -> Result<Option<Event>, Failure> {
        let event = self.endpoint.next_event().map_err(Failure::Protocol)?;
        if event.is_none() {
            self.wait(deadline)?;
            self.write()?;
            self.read()?;
        }
        Ok(event)
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
                return Err(Failure::Timeout(self.endpoint.pending_request()));
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

/// Without the buffers: a request in them may contain a secret.
impl Debug for Connection {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("stream", &self.stream).finish_non_exhaustive()
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The standard library's connect blocks indefinitely while VPP does not accept, so the socket is
/// created explicitly.
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
