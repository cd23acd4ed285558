//! The pod's network namespace.

use super::error::InterfaceError;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

/// The network namespace of the thread that reads this path.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// An open network namespace. The kernel keeps it as long as it is open.
#[derive(Debug)]
pub(super) struct PodNamespace {
    pub(super) file: File,
    path: PathBuf,
}

impl PodNamespace {
    pub(super) fn open(path: &Path) -> Result<Self, InterfaceError> {
        let failed = |source: io::Error| InterfaceError::Namespace { path: path.to_owned(), source };
        // The path may not be a namespace but, for example, a FIFO: opening it must not block.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        let (requested, own) = (file.metadata().map_err(failed)?, fs::metadata(CURRENT).map_err(failed)?);
        if (requested.dev(), requested.ino()) == (own.dev(), own.ino()) {
            return Err(InterfaceError::NodeNamespace(path.to_owned()));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// Runs a function in the namespace, on a separate thread: a namespace belongs to a thread, and
    /// the namespace of the caller's thread must not change.
    pub(super) fn within<T: Send>(
        &self,
        run: impl FnOnce() -> Result<T, InterfaceError> + Send,
    ) -> Result<T, InterfaceError> {
        let failed = |source| InterfaceError::Namespace { path: self.path.clone(), source };
        let enter_and_run = || {
            setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|error| failed(error.into()))?;
            run()
        };
        thread::scope(|scope| {
            let spawned = thread::Builder::new().spawn_scoped(scope, enter_and_run).map_err(failed)?;
            spawned.join().unwrap_or_else(|_| Err(failed(io::Error::other("the thread in it panicked"))))
        })
    }
}
