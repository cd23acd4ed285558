//! The memory, and bounded reading of it.

use super::InvalidSegment;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags, SocketType,
    sockopt,
};
use std::fs::File;
use std::io::{self, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// The offset of `in_progress`.
const IN_PROGRESS: u64 = 24;
/// The length of a vector has 32 bits, and is this many bytes before its first element.
const BEFORE_VECTOR: u64 = 8;

/// The header of the memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) version: u64,
    /// The address of the memory in VPP's process.
    pub(super) base: u64,
    pub(super) epoch: u64,
    pub(super) in_progress: u64,
    /// The address of the directory.
    pub(super) directory: u64,
}

/// The identity of a memory. No two memories have the same at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

#[derive(Debug)]
pub(super) struct Segment {
    memory: File,
    size: u64,
    identity: Identity,
}

impl Segment {
    /// Receives the memory of the VPP that listens at `socket`.
    pub(super) fn receive(socket: &Path, timeout: Duration) -> io::Result<Self> {
        let address = SocketAddrUnix::new(socket)?;
        let connection =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // The timeout for sending is also that for connecting.
        for direction in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
            sockopt::set_socket_timeout(&connection, direction, Some(timeout))?;
        }
        rustix::net::connect(&connection, &address)?;
        let memory = rustix::io::retry_on_intr(|| receive_descriptor(&connection)).map_err(|error| match error {
            rustix::io::Errno::AGAIN => ErrorKind::TimedOut.into(),
            error => io::Error::from(error),
        })?;
        let nothing = || io::Error::new(ErrorKind::UnexpectedEof, "nothing was sent");
        Self::new(memory.ok_or_else(nothing)?.into())
    }

    pub(super) fn new(memory: File) -> io::Result<Self> {
        let metadata = memory.metadata()?;
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        Ok(Self { memory, size: metadata.len(), identity })
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn header(&self) -> Result<Header, InvalidSegment> {
        let mut bytes = [0; 40];
        self.memory.read_exact_at(&mut bytes, 0)?;
        let mut numbers = numbers(&bytes);
        let mut next = || numbers.next().unwrap_or_default();
        Ok(Header { version: next(), base: next(), epoch: next(), in_progress: next(), directory: next() })
    }

    pub(super) fn is_in_progress(&self) -> Result<bool, InvalidSegment> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, IN_PROGRESS)?;
        Ok(u64::from_le_bytes(bytes) != 0)
    }

    /// Returns a reader of vectors, which together cannot be larger than the memory.
    pub(super) fn vectors(&self, header: &Header) -> Vectors<'_> {
        Vectors { segment: self, base: header.base, left: self.size }
    }
}

fn receive_descriptor(connection: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut unused = [0; 1];
    rustix::net::recvmsg(connection, &mut [IoSliceMut::new(&mut unused)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

#[derive(Debug)]
pub(super) struct Vectors<'segment> {
    segment: &'segment Segment,
    base: u64,
    /// The number of bytes that may still be read: VPP's vectors are not larger than its memory.
    left: u64,
}

impl Vectors<'_> {
    /// Reads the vector at an address of VPP, whose elements have this size. Address 0 means an
    /// empty vector.
    pub(super) fn read(&mut self, address: u64, element: u64) -> Result<Vec<u8>, InvalidSegment> {
        if address == 0 {
            return Ok(Vec::new());
        }
        let start = self.offset(address.wrapping_sub(BEFORE_VECTOR), BEFORE_VECTOR)?;
        let mut length = [0; 4];
        self.segment.memory.read_exact_at(&mut length, start)?;
        let length = u64::from(u32::from_le_bytes(length)) * element;
        let offset = self.offset(address, length)?;
        let overlapping = || InvalidSegment::Overlapping { size: self.segment.size };
        self.left = self.left.checked_sub(length).ok_or_else(overlapping)?;
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.segment.memory.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Translates an address into an offset, and checks that `length` bytes follow.
    fn offset(&self, address: u64, length: u64) -> Result<u64, InvalidSegment> {
        let size = self.segment.size;
        let offset = address.checked_sub(self.base);
        let is_inside = |offset: &u64| offset.checked_add(length).is_some_and(|end| end <= size);
        offset.filter(is_inside).ok_or(InvalidSegment::Outside { address, length, size })
    }
}

/// Returns the 64-bit numbers of a vector.
pub(super) fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|number| u64::from_le_bytes(*number))
}
