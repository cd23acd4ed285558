//! Memory that is shared with the peer.

use crate::Error;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{Ordering, fence};
use vm_memory::mmap::MmapRegion;
use vm_memory::{Bytes, FileOffset, VolatileMemory};

const PAGE: usize = 4096;

/// A mapping of a memory file. Each access is checked against its size.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    region: MmapRegion<()>,
    file: RawFd,
}

impl SharedMemory {
    /// Creates at least `size` bytes of zeros, which the peer cannot shrink.
    pub(crate) fn create(size: usize) -> Result<Self, Error> {
        let size = size.next_multiple_of(PAGE);
        let failed = Error::resources("shared memory");
        let file = create_file(size).map_err(failed)?;
        let descriptor = file.as_raw_fd();
        let region = MmapRegion::from_file(FileOffset::new(file, 0), size)
            .map_err(|source| Error::Resources { what: "shared memory", source: std::io::Error::other(source) })?;
        Ok(Self { region, file: descriptor })
    }

    pub(crate) fn size(&self) -> usize {
        self.region.size()
    }

    /// Returns the descriptor of the memory file, which is open as long as the mapping is.
    pub(crate) fn file(&self) -> RawFd {
        self.file
    }

    /// Reads a number that the peer writes. What the peer wrote before it is visible afterwards.
    pub(crate) fn load_u16(&self, offset: usize) -> Result<u16, Error> {
        self.region.as_volatile_slice().load(offset, Ordering::Acquire).map_err(|_| out_of_bounds(offset, 2))
    }

    /// Writes a number that the peer reads: it sees all that was written before.
    pub(crate) fn store_u16(&self, offset: usize, value: u16) -> Result<(), Error> {
        self.region.as_volatile_slice().store(value, offset, Ordering::Release).map_err(|_| out_of_bounds(offset, 2))
    }

    pub(crate) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let length = bytes.len();
        self.region.as_volatile_slice().read_slice(bytes, offset).map_err(|_| out_of_bounds(offset, length))
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let length = bytes.len();
        self.region.as_volatile_slice().write_slice(bytes, offset).map_err(|_| out_of_bounds(offset, length))
    }

    pub(crate) fn read_u32(&self, offset: usize) -> Result<u32, Error> {
        let mut bytes = [0; 4];
        self.read(offset, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// Makes earlier writes visible to the peer before later reads. Otherwise both sides could sleep:
/// the flag that the peer sleeps would be read before the peer can see its work.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
}

fn create_file(size: usize) -> std::io::Result<File> {
    let file = File::from(memfd_create("usnet", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
    file.set_len(size as u64)?;
    // A page that is gone would end this program at its next access.
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file)
}

fn out_of_bounds(offset: usize, length: usize) -> Error {
    Error::OutOfBounds { offset, length }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn accesses_outside_are_errors() {
        let memory = SharedMemory::create(100).unwrap();
        assert_eq!(memory.size(), PAGE);
        memory.write(PAGE - 2, &[1, 2]).unwrap();
        assert_eq!(memory.load_u16(PAGE - 2).unwrap(), 0x0201);
        assert!(matches!(memory.write(PAGE - 1, &[1, 2]), Err(Error::OutOfBounds { .. })));
        assert!(matches!(memory.read(usize::MAX, &mut [0; 2]), Err(Error::OutOfBounds { .. })));
        assert!(matches!(memory.load_u16(PAGE), Err(Error::OutOfBounds { .. })));
        assert!(matches!(memory.load_u16(1), Err(Error::OutOfBounds { .. })));
        assert!(memory.read_u32(PAGE - 3).is_err());
    }

    #[test]
    fn the_peer_cannot_shrink_it() {
        let memory = SharedMemory::create(PAGE).unwrap();
        let path = format!("/proc/self/fd/{}", memory.file());
        let file = File::options().write(true).open(path).unwrap();
        assert!(file.set_len(0).is_err());
    }
}
