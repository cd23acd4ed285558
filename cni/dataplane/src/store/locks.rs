//! Locks between processes. They are released when their holder ends for any reason.

use crate::store::atomic_file::Error;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_crds::names::fnv1a;

/// How often a lock that is taken is tried again.
const RETRY: Duration = Duration::from_millis(2);
/// Offsets in a file are positive and have 63 bits.
const OFFSET_MASK: u64 = i64::MAX.unsigned_abs();

/// The byte of what has this name. Two of the same hash share a lock, which is harmless.
pub fn offset(name: &str) -> u64 {
    fnv1a(name.as_bytes())
}

/// Locked bytes of a file. Dropping it releases all of them.
///
/// Each locked object is a byte of one file that is never deleted: there are no lock files to clean
/// up, and no name can refer to two files. The file is empty; bytes beyond its end can be locked.
/// These are open file description locks (`F_OFD_SETLK`), so that they exclude threads, too, and
/// any number of them needs one open file.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Lock {
    /// Opens the file without locking any byte.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|error| Error::file("open", path, error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Locks the bytes at these offsets one after the other, or returns `None` if one stays locked
    /// by another holder until `timeout`.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    pub fn take(path: &Path, offsets: &[u64], timeout: Duration) -> Result<Option<Self>, Error> {
        Self::open(path)?.add(offsets, timeout)
    }

    /// Locks more bytes, as [`take`](Self::take) does.
    pub(crate) fn add(self, offsets: &[u64], timeout: Duration) -> Result<Option<Self>, Error> {
        let deadline = Instant::now() + timeout;
        for offset in offsets {
            while !self.try_add(*offset)? {
                if Instant::now() >= deadline {
                    return Ok(None);
                }
                sleep(RETRY);
            }
        }
        Ok(Some(self))
    }

    /// Tries to lock one more byte. Returns `true` if this holder has it now or had it already.
    pub(crate) fn try_add(&self, offset: u64) -> Result<bool, Error> {
        let byte = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: (offset & OFFSET_MASK).cast_signed(),
            l_len: 1,
            l_pid: 0,
        };
        loop {
            match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&byte)) {
                Ok(_) => return Ok(true),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::EACCES) => return Ok(false),
                Err(error) => return Err(Error::file("lock", &self.path, error.into())),
            }
        }
    }
}
