//! Where rings and buffers are in the shared memory.

use crate::FRAME_MAX;

/// `virtio_net_hdr` of version 1, in front of each frame.
pub(super) const HEADER: usize = 12;
/// The size of a buffer, its header included.
pub(super) const BUFFER: usize = 10 << 10;
const _: () = assert!(HEADER + FRAME_MAX <= BUFFER);

/// Buffers for received frames: a burst of a thousand fits, also when this program does not run for
/// a moment.
pub(super) const RECEIVE_SIZE: u16 = 1024;
/// Buffers for sent frames.
pub(super) const SEND_SIZE: u16 = 256;

pub(super) const DESCRIPTOR: usize = 16;
pub(super) const USED_ELEMENT: usize = 8;
const PAGE: usize = 4096;

/// The engine's address of the first byte. Any will do that is not 0, which engines take for none.
const BASE: u64 = 1 << 32;

/// One ring with its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RingLayout {
    pub(super) size: u16,
    pub(super) descriptors: usize,
    pub(super) available: usize,
    pub(super) used: usize,
    pub(super) buffers: usize,
    /// The first byte after all of it.
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

/// The engine's address of an offset.
pub(super) fn address(offset: usize) -> u64 {
    BASE + offset as u64
}
