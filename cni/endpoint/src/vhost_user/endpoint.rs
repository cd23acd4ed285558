//! A connected vhost-user port.

use super::layout::{RECEIVE_SIZE, RingLayout, SEND_SIZE};
use super::negotiation::negotiate;
use super::receive_queue::ReceiveQueue;
use super::send_queue::SendQueue;
use crate::memory::SharedMemory;
use crate::wake::{Wake, new_event};
use crate::{Error, Port};
use std::fmt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use vhost::vhost_user::Frontend;

/// A connected vhost-user port. Dropping it closes the connection.
pub struct Endpoint {
    receive: ReceiveQueue,
    send: SendQueue,
    wake: Wake,
    memory: SharedMemory,
    /// Dropping it ends the connection.
    _frontend: Frontend,
}

impl Endpoint {
    pub(super) fn new(socket: UnixStream) -> Result<Self, Error> {
        let receive = RingLayout::at(0, RECEIVE_SIZE);
        let send = RingLayout::at(receive.end, SEND_SIZE);
        let memory = SharedMemory::create(send.end)?;
        let receive = ReceiveQueue::new(&memory, receive)?;
        let send = SendQueue::new(send)?;
        let wake = Wake::new(&socket)?;
        // Returned buffers are collected by the next send: nothing waits for them.
        let unread = new_event()?;
        let frontend = negotiate(socket, &memory, [(&receive.ring, wake.event()), (&send.ring, &unread)])?;
        receive.ring.notify_always();
        send.ring.notify_always();
        Ok(Self { receive, send, wake, memory, _frontend: frontend })
    }
}

impl Port for Endpoint {
    fn send(&mut self, frame: &[u8]) -> Result<(), Error> {
        match self.send.send(&self.memory, frame) {
            Err(Error::Full) if self.wake.wait(Duration::ZERO)?.closed => Err(Error::Disconnected),
            result => result,
        }
    }

    fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, Error> {
        if self.receive.receive(&self.memory, buffer)? {
            return Ok(true);
        }
        if self.wake.wait(Duration::ZERO)?.closed {
            return Err(Error::Disconnected);
        }
        Ok(false)
    }

    fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if self.receive.ring.has_returned(&self.memory)? {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // The event may be that of a frame that was already read.
            let woken = self.wake.wait(left)?;
            if woken.closed || left.is_zero() {
                return Ok(woken.closed || self.receive.ring.has_returned(&self.memory)?);
            }
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("memory", &self.memory).finish_non_exhaustive()
    }
}
