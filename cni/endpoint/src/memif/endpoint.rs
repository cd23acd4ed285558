//! A connected memif.

use super::Target;
use super::connection::Connection;
use super::protocol::{Answer, Direction, Request};
use super::ring::{Layout, Ring};
use crate::memory::SharedMemory;
use crate::wake::{Wake, new_event};
use crate::{Error, Port};
use std::fmt;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};
use vmm_sys_util::eventfd::EventFd;

/// There are 1,024 buffers for received frames: a burst of a thousand fits, also when this program
/// does not run for a moment.
const RECEIVE_LOG2: u8 = 10;
const SEND_LOG2: u8 = 8;
const NAME: &str = "usnet";

/// A connected memif. Dropping it closes the connection.
pub struct Endpoint {
    send: Ring,
    receive: Ring,
    kick: EventFd,
    wake: Wake,
    memory: SharedMemory,
    /// Dropping it ends the memif.
    _connection: Connection,
}

impl Endpoint {
    pub(super) fn connect(target: &Target) -> Result<Self, Error> {
        let connection = Connection::open(target)?;
        let limit = hello(connection.read()?)?;
        let init = Request::Init { id: target.id, ip: target.ip, secret: target.secret.as_bytes(), name: NAME };
        acknowledged(connection.call(&init, None)?, "the interface")?;
        let send = Layout::at(0, SEND_LOG2.min(limit));
        let receive = Layout::at(send.end, RECEIVE_LOG2.min(limit));
        let memory = SharedMemory::create(receive.end)?;
        let (send, mut receive) = (Ring::new(&memory, send)?, Ring::new(&memory, receive)?);
        receive.offer_all(&memory)?;
        let region = Request::AddRegion { size: memory.size() as u64 };
        acknowledged(connection.call(&region, Some(memory.file()))?, "the memory")?;
        let (kick, wake) = (new_event()?, Wake::new(&connection)?);
        add_ring(&connection, Direction::FromClient, &send, kick.as_raw_fd())?;
        add_ring(&connection, Direction::ToClient, &receive, wake.event().as_raw_fd())?;
        match connection.call(&Request::Connect { name: NAME }, None)? {
            Answer::Connected => Ok(Self { send, receive, kick, wake, memory, _connection: connection }),
            other => Err(unexpected(other, "to connect")),
        }
    }
}

fn hello(answer: Answer) -> Result<u8, Error> {
    match answer {
        Answer::Hello { versions, max_log2_size } if Answer::speaks_this_version(versions) => Ok(max_log2_size),
        Answer::Hello { versions: (from, to), .. } => {
            Err(Error::Peer(format!("it speaks memif versions {from:#x} to {to:#x}, and this program speaks 0x200")))
        }
        other => Err(unexpected(other, "to say hello")),
    }
}

fn add_ring(connection: &Connection, direction: Direction, ring: &Ring, event: RawFd) -> Result<(), Error> {
    let Layout { start, log2_size, .. } = ring.layout;
    let offset = u32::try_from(start).unwrap_or(u32::MAX);
    acknowledged(connection.call(&Request::AddRing { direction, offset, log2_size }, Some(event))?, "a ring")
}

fn acknowledged(answer: Answer, message: &'static str) -> Result<(), Error> {
    match answer {
        Answer::Acknowledged => Ok(()),
        other => Err(unexpected(other, message)),
    }
}

fn unexpected(answer: Answer, message: &'static str) -> Error {
    match answer {
        Answer::Disconnect { reason } => Error::Negotiation { message, source: reason.into() },
        other => Error::Peer(format!("{other:?} is not the answer to {message}")),
    }
}

impl Port for Endpoint {
    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        match self.send.send(&self.memory, frame) {
            Ok(()) => {}
            // Once connected, the engine sends only the reason for a disconnect.
            Err(Error::Full) if self.wake.wait(Duration::ZERO)?.socket => return Err(Error::Disconnected),
            Err(error) => return Err(error),
        }
        if self.send.wants_interrupt(&self.memory)? {
            // An error means that the counter is at its maximum: the engine was woken often enough.
            let _written = self.kick.write(1);
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        if self.receive.receive(&self.memory, buffer)? {
            return Ok(true);
        }
        if self.wake.wait(Duration::ZERO)?.socket {
            return Err(Error::Disconnected);
        }
        Ok(false)
    }

    fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.receive.has_frame(&self.memory)? {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // The event may be that of a frame that was already read.
            let woken = self.wake.wait(left)?;
            if woken.socket || left.is_zero() {
                return Ok(woken.socket || self.receive.has_frame(&self.memory)?);
            }
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("memory", &self.memory).finish_non_exhaustive()
    }
}
