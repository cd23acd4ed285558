//! The output of frames. A reader that stops reading must not keep a capture running: nothing is
//! written before the reader has room for it.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// The number of bytes that a writable pipe accepts at least (`PIPE_BUF`).
const PIECE: usize = 4096;

/// A file, or standard output.
#[derive(Debug)]
pub(super) struct Output(File);

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// All bytes were written.
    All,
    /// The reader is gone.
    ReaderGone,
    /// The caller did not want to wait any longer.
    GaveUp,
}

impl Output {
    /// Opens a new file that only its owner can read, or standard output for `-`.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self(io::stdout().as_fd().try_clone_to_owned()?.into()));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).open(path).map(Self)
    }

    /// Writes all bytes. While the reader has no room, it asks from time to time whether to go on.
    pub(super) fn write(&mut self, bytes: &[u8], mut goes_on: impl FnMut() -> bool) -> io::Result<Written> {
        for piece in bytes.chunks(PIECE) {
            while !self.has_room(Duration::from_millis(100))? {
                if !goes_on() {
                    return Ok(Written::GaveUp);
                }
            }
            match self.0.write_all(piece) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Written::ReaderGone),
                written => written?,
            }
        }
        Ok(Written::All)
    }

    /// Whether the reader is gone, as far as the kernel reports it.
    pub(super) fn is_abandoned(&self) -> bool {
        let mut descriptors = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
        let _count = poll(&mut descriptors, PollTimeout::ZERO);
        let [descriptor] = descriptors;
        descriptor.revents().is_some_and(|events| events.intersects(PollFlags::POLLERR))
    }

    fn has_room(&self, timeout: Duration) -> io::Result<bool> {
        let mut descriptors = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut descriptors, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX)) {
            Ok(count) => Ok(count > 0),
            Err(nix::Error::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
impl From<File> for Output {
    fn from(file: File) -> Self {
        Self(file)
    }
}
