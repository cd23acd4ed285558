//! Frames to the engine.

use super::layout::{HEADER, RingLayout};
use super::ring::Ring;
use crate::memory::SharedMemory;
use crate::{Error, FRAME_MAX};

pub(super) struct SendQueue {
    pub(super) ring: Ring,
    free: Vec<u16>,
}

impl SendQueue {
    pub(super) fn new(layout: RingLayout) -> Result<Self, Error> {
        Ok(Self { ring: Ring::new(layout)?, free: (0..layout.size).collect() })
    }

    pub(super) fn send(&mut self, memory: &SharedMemory, frame: &[u8]) -> Result<(), Error> {
        if frame.len() > FRAME_MAX {
            return Err(Error::TooLong { length: frame.len(), limit: FRAME_MAX });
        }
        while let Some(returned) = self.ring.take_returned(memory)? {
            self.free.push(returned.id);
        }
        let id = self.free.pop().ok_or(Error::Full)?;
        let buffer = self.ring.layout().buffer(id);
        memory.write(buffer, &[0; HEADER])?;
        memory.write(buffer + HEADER, frame)?;
        self.ring.offer_readable(memory, id, HEADER + frame.len())?;
        self.ring.notify(memory)
    }
}
