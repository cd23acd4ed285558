//! Locks between processes. They go with their holder, however it ends.

use crate::document::Error;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a lock that is taken is tried again.
const RETRY: Duration = Duration::from_millis(5);
/// Offsets in a file are positive and have 63 bits.
const OFFSET_MASK: u64 = i64::MAX.unsigned_abs();

/// One locked byte of a file. Dropping it frees the byte.
///
/// A byte for each thing that is locked, in one file that is never removed: there is no lock file to tidy up, and none whose name
/// could already stand for another file. The file has no content, bytes beyond its end can be locked. The locks are those of the open
/// file, not of the process, so that threads exclude each other too.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the byte at `offset`, or gives `None` when somebody else held it all through `patience`.
    pub(crate) fn take(path: &Path, offset: u64, patience: Duration) -> Result<Option<Self>, Error> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|error| Error::file("open", path, error))?;
        let byte = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: (offset & OFFSET_MASK).cast_signed(),
            l_len: 1,
            l_pid: 0,
        };
        let deadline = Instant::now() + patience;
        loop {
            match fcntl(&file, FcntlArg::F_OFD_SETLK(&byte)) {
                Ok(_) => return Ok(Some(Self { _file: file })),
                Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) if Instant::now() < deadline => sleep(RETRY),
                Err(Errno::EAGAIN | Errno::EACCES) => return Ok(None),
                Err(error) => return Err(Error::file("lock", path, error.into())),
            }
        }
    }
}
