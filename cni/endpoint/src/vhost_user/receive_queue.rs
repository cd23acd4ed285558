//! Frames from the engine.

use super::layout::{HEADER, RingLayout};
use super::ring::{Ring, frame_length};
use crate::Error;
use crate::memory::SharedMemory;

pub(super) struct ReceiveQueue {
    pub(super) ring: Ring,
}

impl ReceiveQueue {
    /// Offers all buffers to the engine.
    pub(super) fn new(memory: &SharedMemory, layout: RingLayout) -> Result<Self, Error> {
        let mut ring = Ring::new(layout)?;
        for id in 0..layout.size {
            ring.offer_writable(memory, id)?;
        }
        Ok(Self { ring })
    }

    pub(super) fn receive(&mut self, memory: &SharedMemory, frame: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(returned) = self.ring.take_returned(memory)? else { return Ok(false) };
        let length = frame_length(returned.length)?;
        frame.resize(length, 0);
        memory.read(self.ring.layout().buffer(returned.id) + HEADER, frame)?;
        self.ring.offer_writable(memory, returned.id)?;
        self.ring.notify(memory)?;
        Ok(true)
    }
}
