//! The places of rings and buffers in the shared memory.

use crate::FRAME_MAX;

/// The size of `virtio_net_hdr` of version 1, which precedes each frame.
pub(super) const HEADER: usize = 12;
/// The size of a buffer for a frame and its header.
pub(super) const BUFFER: usize = 10 << 10;
const _: () = assert!(HEADER + FRAME_MAX <= BUFFER);

/// The number of buffers for received frames: a burst of a thousand fits, also when this program
/// does not run for a moment.
pub(super) const RECEIVE_SIZE: u16 = 1024;
pub(super) const SEND_SIZE: u16 = 256;

pub(super) const DESCRIPTOR: usize = 16;
pub(super) const USED_ELEMENT: usize = 8;
const PAGE: usize = 4096;

/// The engine's address of the first byte of the memory. Any address works except 0, which engines
/// take for no address.
const BASE: u64 = 1 << 32;

/// The offsets of a ring and its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RingLayout {
    pub(super) size: u16,
    pub(super) descriptors: usize,
    pub(super) available: usize,
    pub(super) used: usize,
    pub(super) buffers: usize,
    /// The offset behind the last buffer.
    pub(super) end: usize,
}

impl RingLayout {
    pub(super) fn at(start: usize, size: u16) -> Self {
        let count = usize::from(size);
        let available = start + DESCRIPTOR * count;
        // Flags and index, the ring, and a field for a feature that is not used.
        let used = (available + 4 + 2 * count + 2).next_multiple_of(PAGE);
        let buffers = (used + 4 + USED_ELEMENT * count + 2).next_multiple_of(PAGE);
        Self { size, descriptors: start, available, used, buffers, end: buffers + count * BUFFER }
    }

    pub(super) fn descriptor(&self, id: u16) -> usize {
        self.descriptors + usize::from(id) * DESCRIPTOR
    }

    pub(super) fn buffer(&self, id: u16) -> usize {
        self.buffers + usize::from(id) * BUFFER
    }
}

/// Returns the engine's address of an offset.
pub(super) fn address(offset: usize) -> u64 {
    BASE + offset as u64
}
