//! The lock of mounts and unmounts.

use super::error::{PodDirectoryError, file_error};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for the lock of concurrent mounts and unmounts. Each takes milliseconds; on a
/// busy node where many pods start or stop at the same time the queue takes some seconds. Less
/// would fail such pods; more would only delay the error when a holder hangs in the kernel.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// There is no blocking lock with a timeout. Each retry wakes up once; a longer pause would leave
/// the lock unused between two short holders.
const LOCK_RETRY: Duration = Duration::from_millis(2);

/// Serializes mounts and unmounts. The lock is on the folder of all mounts itself, and is released
/// when its holder ends.
pub(super) fn lock_mounts(mounts: &Path) -> Result<Flock<File>, PodDirectoryError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let mut folder = File::open(mounts).map_err(|error| file_error("open", mounts, error))?;
    loop {
        folder = match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((folder, Errno::EAGAIN | Errno::EINTR)) => folder,
            Err((_, error)) => return Err(file_error("lock", mounts, error.into())),
        };
        if Instant::now() >= deadline {
            return Err(PodDirectoryError::Busy(mounts.to_owned()));
        }
        sleep(LOCK_RETRY);
    }
}
