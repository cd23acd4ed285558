//! The driver's side of a split ring, which offers buffers.

use super::layout::{BUFFER, HEADER, RingLayout, USED_ELEMENT, address};
use crate::memory::{SharedMemory, barrier};
use crate::{Error, wake};
use vmm_sys_util::eventfd::EventFd;

const INDEX: usize = 2;
const ENTRIES: usize = 4;
/// `VRING_USED_F_NO_NOTIFY`: the engine polls.
const NO_NOTIFY: u16 = 1;
/// `VRING_DESC_F_WRITE`: the engine writes the buffer.
const WRITE: u16 = 2;

pub(super) struct Ring {
    layout: RingLayout,
    /// Counts offered buffers, modulo 2¹⁶.
    offered: u16,
    /// Counts buffers that came back, modulo 2¹⁶.
    returned: u16,
    /// Whether the engine has the buffer, by its number.
    with_engine: Vec<bool>,
    kick: EventFd,
}

/// A buffer that came back, with as many bytes as the engine wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) id: u16,
    pub(super) length: usize,
}

impl Ring {
    pub(super) fn new(layout: RingLayout) -> Result<Self, Error> {
        let with_engine = vec![false; usize::from(layout.size)];
        Ok(Self { layout, offered: 0, returned: 0, with_engine, kick: wake::new_event()? })
    }

    pub(super) fn layout(&self) -> &RingLayout {
        &self.layout
    }

    pub(super) fn kick(&self) -> &EventFd {
        &self.kick
    }

    /// Offers a buffer for the engine to read `length` bytes from.
    pub(super) fn offer_readable(&mut self, memory: &SharedMemory, id: u16, length: usize) -> Result<(), Error> {
        self.offer(memory, id, length, 0)
    }

    /// Offers a buffer for the engine to write into.
    pub(super) fn offer_writable(&mut self, memory: &SharedMemory, id: u16) -> Result<(), Error> {
        self.offer(memory, id, BUFFER, WRITE)
    }

    fn offer(&mut self, memory: &SharedMemory, id: u16, length: usize, flags: u16) -> Result<(), Error> {
        let mut descriptor = Vec::with_capacity(16);
        descriptor.extend_from_slice(&address(self.layout.buffer(id)).to_le_bytes());
        descriptor.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        descriptor.extend_from_slice(&flags.to_le_bytes());
        descriptor.extend_from_slice(&0_u16.to_le_bytes());
        memory.write(self.layout.descriptor(id), &descriptor)?;
        let entry = self.layout.available + ENTRIES + 2 * usize::from(self.offered % self.layout.size);
        memory.write(entry, &id.to_le_bytes())?;
        if let Some(with_engine) = self.with_engine.get_mut(usize::from(id)) {
            *with_engine = true;
        }
        self.offered = self.offered.wrapping_add(1);
        memory.store_u16(self.layout.available + INDEX, self.offered)
    }

    /// Wakes the engine, unless it polls.
    pub(super) fn notify(&self, memory: &SharedMemory) -> Result<(), Error> {
        barrier();
        if memory.load_u16(self.layout.used)? & NO_NOTIFY == 0 {
            self.notify_always();
        }
        Ok(())
    }

    /// Wakes the engine even if it polls: a ring starts with its first kick.
    pub(super) fn notify_always(&self) {
        // An error means that the counter is at its maximum: the engine was woken often enough.
        let _written = self.kick.write(1);
    }

    /// Whether [`Self::take_returned`] would return a buffer.
    pub(super) fn has_returned(&self, memory: &SharedMemory) -> Result<bool, Error> {
        Ok(memory.load_u16(self.layout.used + INDEX)? != self.returned)
    }

    pub(super) fn take_returned(&mut self, memory: &SharedMemory) -> Result<Option<Returned>, Error> {
        let index = memory.load_u16(self.layout.used + INDEX)?;
        if index == self.returned {
            return Ok(None);
        }
        let (ahead, offered) = (index.wrapping_sub(self.returned), self.offered.wrapping_sub(self.returned));
        if ahead > offered {
            return Err(Error::Peer(format!("it returned {ahead} buffers and was offered {offered}")));
        }
        let element = self.layout.used + ENTRIES + USED_ELEMENT * usize::from(self.returned % self.layout.size);
        let (id, length) = (memory.read_u32(element)?, memory.read_u32(element + 4)? as usize);
        let offered = u16::try_from(id).ok().and_then(|id| Some((id, self.with_engine.get_mut(usize::from(id))?)));
        let Some((id, with_engine)) = offered.filter(|(_, with_engine)| **with_engine) else {
            return Err(Error::Peer(format!("it returned buffer {id}, which it was not offered")));
        };
        *with_engine = false;
        self.returned = self.returned.wrapping_add(1);
        Ok(Some(Returned { id, length }))
    }
}

/// Checks how many bytes the engine claims to have written, and subtracts the header.
pub(super) fn frame_length(written: usize) -> Result<usize, Error> {
    match written.checked_sub(HEADER) {
        Some(length) if written <= BUFFER => Ok(length),
        _ => Err(Error::Peer(format!("it wrote {written} bytes into a buffer of {BUFFER}"))),
    }
}
