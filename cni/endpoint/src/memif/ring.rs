//! A memif ring, seen from the side that owns the memory.

use crate::memory::{SharedMemory, barrier};
use crate::{Error, FRAME_MAX};

pub(super) const BUFFER: usize = 10 << 10;
const _: () = assert!(FRAME_MAX <= BUFFER);

const COOKIE: u32 = 0x3E3_1F20;
const FLAGS: usize = 4;
const HEAD: usize = 6;
const TAIL: usize = 64;
const DESCRIPTORS: usize = 128;
const DESCRIPTOR: usize = 16;
/// This flag of a ring says that the engine polls.
const MASK_INTERRUPT: u16 = 1;
/// This flag of a descriptor says that the frame continues in the next buffer.
const NEXT: u16 = 1;

/// The offsets of a ring and its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) log2_size: u8,
    pub(super) start: usize,
    buffers: usize,
    /// The offset behind the last buffer.
    pub(super) end: usize,
}

impl Layout {
    pub(super) fn at(start: usize, log2_size: u8) -> Self {
        let count = 1_usize << log2_size;
        let buffers = (start + DESCRIPTORS + count * DESCRIPTOR).next_multiple_of(64);
        Self { log2_size, start, buffers, end: (buffers + count * BUFFER).next_multiple_of(64) }
    }

    fn slot(&self, index: u16) -> usize {
        usize::from(index) & ((1 << self.log2_size) - 1)
    }

    fn descriptor(&self, index: u16) -> usize {
        self.start + DESCRIPTORS + self.slot(index) * DESCRIPTOR
    }

    /// Returns the offset of the buffer that always belongs to the descriptor at `index`.
    fn buffer(&self, index: u16) -> usize {
        self.buffers + self.slot(index) * BUFFER
    }
}

/// A ring in which this side advances the head, and the engine the tail.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) layout: Layout,
    head: u16,
    tail: u16,
}

impl Ring {
    pub(super) fn new(memory: &SharedMemory, layout: Layout) -> Result<Self, Error> {
        memory.write(layout.start, &COOKIE.to_le_bytes())?;
        Ok(Self { layout, head: 0, tail: 0 })
    }

    /// Offers all buffers for the engine to write into.
    pub(super) fn offer_all(&mut self, memory: &SharedMemory) -> Result<(), Error> {
        (0..1_u32 << self.layout.log2_size).try_for_each(|_| self.offer(memory, BUFFER))
    }

    fn offer(&mut self, memory: &SharedMemory, length: usize) -> Result<(), Error> {
        let descriptor = self.layout.descriptor(self.head);
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
        let (flags_and_region, metadata) = ([0; 4], [0; 4]);
        let parts = [flags_and_region, number(length), number(self.layout.buffer(self.head)), metadata];
        memory.write(descriptor, parts.as_flattened())?;
        self.head = self.head.wrapping_add(1);
        memory.store_u16(self.layout.start + HEAD, self.head)
    }

    /// Reads the engine's tail, and checks that it is between this side's tail and head.
    fn engine_tail(&self, memory: &SharedMemory) -> Result<u16, Error> {
        let tail = memory.load_u16(self.layout.start + TAIL)?;
        let (ahead, offered) = (tail.wrapping_sub(self.tail), self.head.wrapping_sub(self.tail));
        if ahead > offered {
            return Err(Error::Peer(format!("it returned {ahead} buffers and was offered {offered}")));
        }
        Ok(tail)
    }

    pub(super) fn send(&mut self, memory: &SharedMemory, frame: &[u8]) -> Result<(), Error> {
        if frame.len() > FRAME_MAX {
            return Err(Error::TooLong { length: frame.len(), limit: FRAME_MAX });
        }
        self.tail = self.engine_tail(memory)?;
        if u32::from(self.head.wrapping_sub(self.tail)) >= 1 << self.layout.log2_size {
            return Err(Error::Full);
        }
        memory.write(self.layout.buffer(self.head), frame)?;
        self.offer(memory, frame.len())
    }

    pub(super) fn wants_interrupt(&self, memory: &SharedMemory) -> Result<bool, Error> {
        barrier();
        Ok(memory.load_u16(self.layout.start + FLAGS)? & MASK_INTERRUPT == 0)
    }

    pub(super) fn has_frame(&self, memory: &SharedMemory) -> Result<bool, Error> {
        Ok(self.engine_tail(memory)? != self.tail)
    }

    /// Reads the next frame from all its buffers, and offers them again.
    pub(super) fn receive(&mut self, memory: &SharedMemory, frame: &mut Vec<u8>) -> Result<bool, Error> {
        let end = self.engine_tail(memory)?;
        frame.clear();
        while self.tail != end {
            let descriptor = self.layout.descriptor(self.tail);
            let mut flags = [0; 2];
            memory.read(descriptor, &mut flags)?;
            let length = memory.read_u32(descriptor + 4)? as usize;
            if length > BUFFER {
                return Err(Error::Peer(format!("it wrote {length} bytes into a buffer of {BUFFER}")));
            }
            let before = frame.len();
            frame.resize(before + length, 0);
            memory.read(self.layout.buffer(self.tail), frame.get_mut(before..).unwrap_or_default())?;
            self.tail = self.tail.wrapping_add(1);
            self.offer(memory, BUFFER)?;
            if u16::from_le_bytes(flags) & NEXT == 0 {
                return Ok(true);
            }
        }
        if frame.is_empty() { Ok(false) } else { Err(Error::Peer("the last buffer of a frame is missing".to_owned())) }
    }
}
