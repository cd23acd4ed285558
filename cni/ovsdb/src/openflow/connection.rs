//! A connection to the management socket of a bridge (IO). It is opened for a few requests and
//! closed again; all requests together have one deadline.

use super::answer::{self, Header};
use super::message::{self, HEADER};
use super::port_config::PortConfig;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most messages that are read for one reply: others may be received in between, and the ports
/// of a bridge come in several parts.
const MESSAGES_MAX: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum OpenFlowError {
    /// The socket does not exist, or the switch does not answer in time.
    #[error("no answer at {}: does ovs-vswitchd run, and may this program use its sockets?", socket.display())]
    Io { socket: PathBuf, source: io::Error },
    /// The received bytes are not OpenFlow 1.0.
    #[error("{} sent what is not OpenFlow 1.0", .0.display())]
    Protocol(PathBuf),
    /// The switch refused a request.
    #[error("{} refused a request of OpenFlow with type {kind}, code {code}", socket.display())]
    Refused { socket: PathBuf, kind: u16, code: u16 },
}

impl OpenFlowError {
    /// Whether a running switch does not answer in time.
    pub fn is_timeout(&self) -> bool {
        let is_late = |kind| matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock);
        matches!(self, Self::Io { source, .. } if is_late(source.kind()))
    }
}

#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    socket: PathBuf,
    deadline: Instant,
    /// The transaction id of the last request.
    id: u32,
}

impl Connection {
    /// Connects and exchanges hello messages. `timeout` limits all requests of the connection
    /// together.
    pub fn open(socket: &Path, timeout: Duration) -> Result<Self, OpenFlowError> {
        let failed = |source| OpenFlowError::Io { socket: socket.to_owned(), source };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        let deadline = Instant::now() + timeout;
        let mut connection = Self { stream, socket: socket.to_owned(), deadline, id: 0 };
        connection.send(message::HELLO, &[])?;
        // The hello of the switch has its own transaction id, and may offer later versions as well.
        let (header, _) = connection.receive()?;
        if header.kind == message::HELLO { Ok(connection) } else { Err(connection.protocol()) }
    }

    /// Whether the bridge has the flow of a learning switch and no other.
    pub fn is_normal(&mut self) -> Result<bool, OpenFlowError> {
        if self.count(None)? != 1 {
            return Ok(false);
        }
        let parts = self.stats(&message::flows())?;
        // The reply has a flow that was added meanwhile: the bridge is no longer normal.
        let [(kind, only)] = parts.as_slice() else { return Ok(false) };
        let flow = answer::of_nicira(*kind, only).ok_or_else(|| self.protocol())?;
        if flow.is_empty() {
            return Ok(false);
        }
        answer::is_normal_flow(flow).ok_or_else(|| self.protocol())
    }

    /// Whether any flow forwards like a learning switch.
    pub fn has_normal(&mut self) -> Result<bool, OpenFlowError> {
        Ok(self.count(Some(message::NORMAL))? > 0)
    }

    /// Returns the ports of the bridge, with its local port.
    pub fn ports(&mut self) -> Result<Vec<PortConfig>, OpenFlowError> {
        let mut ports = Vec::new();
        for (kind, part) in self.stats(&message::ports())? {
            ports.extend(answer::ports(kind, &part).ok_or_else(|| self.protocol())?);
        }
        Ok(ports)
    }

    /// Replaces all flows by the flow of a learning switch. Both messages are sent at once, so that
    /// hardly a frame finds no flow.
    pub fn set_normal(&mut self) -> Result<(), OpenFlowError> {
        self.change(&[(message::FLOW_MOD, message::delete_flows()), (message::FLOW_MOD, message::add_normal())])
    }

    /// Clears the configuration that stops frames at a port.
    pub fn open_port(&mut self, port: &PortConfig) -> Result<(), OpenFlowError> {
        self.change(&[(message::PORT_MOD, message::open_port(port))])
    }

    fn count(&mut self, port: Option<u16>) -> Result<u32, OpenFlowError> {
        let parts = self.stats(&message::count(port))?;
        let count = parts.first().and_then(|(kind, part)| answer::count(answer::of_nicira(*kind, part)?));
        count.ok_or_else(|| self.protocol())
    }

    /// Sends changes and a barrier. A change is answered only if it fails, and the barrier always
    /// is.
    fn change(&mut self, messages: &[(u8, Vec<u8>)]) -> Result<(), OpenFlowError> {
        let mut all = Vec::new();
        for (kind, body) in messages {
            self.id += 1;
            all.extend(message::message(*kind, self.id, body));
        }
        self.id += 1;
        all.extend(message::message(message::BARRIER_REQUEST, self.id, &[]));
        self.write(&all)?;
        self.answer(message::BARRIER_REPLY).map(drop)
    }

    /// Requests statistics, and returns all parts of the reply.
    fn stats(&mut self, request: &[u8]) -> Result<Vec<(u16, Vec<u8>)>, OpenFlowError> {
        self.id += 1;
        self.send(message::STATS_REQUEST, request)?;
        let mut parts = Vec::new();
        while parts.len() < MESSAGES_MAX {
            let body = self.answer(message::STATS_REPLY)?;
            let (kind, has_more, rest) = answer::stats(&body).ok_or_else(|| self.protocol())?;
            parts.push((kind, rest.to_vec()));
            if !has_more {
                return Ok(parts);
            }
        }
        Err(self.protocol())
    }

    /// Reads until a message of this type with the transaction id of the last request. Any error
    /// message is about a request of this connection, each of which is waited for.
    fn answer(&mut self, kind: u8) -> Result<Vec<u8>, OpenFlowError> {
        for _ in 0..MESSAGES_MAX {
            let (header, body) = self.receive()?;
            if header.version != message::VERSION {
                return Err(self.protocol());
            }
            match header.kind {
                message::ERROR => return Err(self.refused(&body)),
                message::ECHO_REQUEST => self.write(&message::message(message::ECHO_REPLY, header.id, &body))?,
                found if found == kind && header.id == self.id => return Ok(body),
                _ => {}
            }
        }
        Err(self.protocol())
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> Result<(), OpenFlowError> {
        self.write(&message::message(kind, self.id, body))
    }

    fn receive(&mut self) -> Result<(Header, Vec<u8>), OpenFlowError> {
        let mut header = [0; HEADER];
        self.read(&mut header)?;
        let header = Header::read(header).ok_or_else(|| self.protocol())?;
        let mut body = vec![0; header.body];
        self.read(&mut body)?;
        Ok((header, body))
    }

    fn read(&mut self, mut buffer: &mut [u8]) -> Result<(), OpenFlowError> {
        while !buffer.is_empty() {
            let result = self.left().and_then(|left| {
                self.stream.set_read_timeout(Some(left))?;
                self.stream.read(buffer)
            });
            match result {
                Ok(0) => return Err(self.failed(ErrorKind::UnexpectedEof.into())),
                Ok(count) => buffer = buffer.split_at_mut(count).1,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), OpenFlowError> {
        let result = self.left().and_then(|left| {
            self.stream.set_write_timeout(Some(left))?;
            self.stream.write_all(bytes)
        });
        result.map_err(|error| self.failed(error))
    }

    /// Returns the time that is left. It is never zero, which would mean no limit.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }

    fn failed(&self, source: io::Error) -> OpenFlowError {
        OpenFlowError::Io { socket: self.socket.clone(), source }
    }

    fn protocol(&self) -> OpenFlowError {
        OpenFlowError::Protocol(self.socket.clone())
    }

    fn refused(&self, body: &[u8]) -> OpenFlowError {
        let number = |at: usize| body.get(at..at + 2)?.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes));
        match (number(0), number(2)) {
            (Some(kind), Some(code)) => OpenFlowError::Refused { socket: self.socket.clone(), kind, code },
            _ => self.protocol(),
        }
    }
}
