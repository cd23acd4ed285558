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

/// How often a lock that is taken is tried again.
const RETRY: Duration = Duration::from_millis(5);
/// Offsets in a file are positive and have 63 bits.
const OFFSET_MASK: u64 = i64::MAX.unsigned_abs();

/// Locked bytes of a file. Dropping it releases all of them.
///
/// Each locked object is a byte of one file that is never deleted: there are no lock files to clean
/// up, and no name can refer to two files. The file is empty; bytes beyond its end can be locked.
/// These are open file description locks (`F_OFD_SETLK`), so that they exclude threads, too, and
/// any number of them needs one open file.
#[derive(Debug)]
pub(crate) struct Lock {
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

    /// Locks the byte at `offset`, or returns `None` if it stays locked by another holder until
    /// `timeout`.
    pub(crate) fn take(path: &Path, offset: u64, timeout: Duration) -> Result<Option<Self>, Error> {
        let lock = Self::open(path)?;
        let deadline = Instant::now() + timeout;
        while !lock.try_add(offset)? {
            if Instant::now() >= deadline {
                return Ok(None);
            }
            sleep(RETRY);
        }
        Ok(Some(lock))
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
