//! Waiting for the peer.

use crate::Error;
use std::os::fd::AsRawFd;
use std::time::Duration;
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

const SOCKET: u64 = 0;
const EVENT: u64 = 1;

/// An eventfd by which the peer signals work, and the connection, whose end is an event as well.
pub(crate) struct Wake {
    event: EventFd,
    epoll: Epoll,
}

/// The events that ended a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Woken {
    /// The peer signalled work.
    pub(crate) work: bool,
    /// The connection has a message, or was closed.
    pub(crate) socket: bool,
    pub(crate) closed: bool,
}

impl Wake {
    pub(crate) fn new(socket: &impl AsRawFd) -> Result<Self, Error> {
        let event = new_event()?;
        let epoll = Epoll::new().map_err(Error::resources("an epoll instance"))?;
        let ends = EventSet::IN | EventSet::READ_HANG_UP;
        for (descriptor, events, name) in [(socket.as_raw_fd(), ends, SOCKET), (event.as_raw_fd(), EventSet::IN, EVENT)]
        {
            let added = epoll.ctl(ControlOperation::Add, descriptor, EpollEvent::new(events, name));
            added.map_err(Error::resources("an epoll entry"))?;
        }
        Ok(Self { event, epoll })
    }

    pub(crate) fn event(&self) -> &EventFd {
        &self.event
    }

    /// Waits for work or for the end of the connection, and resets the eventfd.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<Woken, Error> {
        let mut events = [EpollEvent::default(); 2];
        // Rounded up to a millisecond: a wait of less would be none at all.
        let milliseconds = i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        let count = match self.epoll.wait(milliseconds, &mut events) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => 0,
            Err(source) => return Err(Error::Resources { what: "a wait", source }),
        };
        let mut woken = Woken::default();
        for event in events.iter().take(count) {
            if event.data() == EVENT {
                woken.work = true;
                // Another thread of this process cannot have read it; an error means that it was 0.
                let _count = self.event.read();
            } else {
                let ends = EventSet::READ_HANG_UP | EventSet::HANG_UP | EventSet::ERROR;
                woken.socket = true;
                woken.closed = event.event_set().intersects(ends);
            }
        }
        Ok(woken)
    }
}

pub(crate) fn new_event() -> Result<EventFd, Error> {
    EventFd::new(EFD_NONBLOCK | nix::libc::EFD_CLOEXEC).map_err(Error::resources("an eventfd"))
}
