//! The pod's network namespace.

use super::InterfaceError;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

/// The namespace of the thread that reads it.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// An open network namespace, which stays as long as it is open.
#[derive(Debug)]
pub(super) struct PodNamespace {
    pub(super) file: File,
    path: PathBuf,
}

impl PodNamespace {
    /// Opens it.
    pub(super) fn open(path: &Path) -> Result<Self, InterfaceError> {
        let failed = |source: io::Error| InterfaceError::Namespace { path: path.to_owned(), source };
        // Whatever is there instead of a namespace, opening it must not wait for anybody.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        let (requested, own) = (file.metadata().map_err(failed)?, fs::metadata(CURRENT).map_err(failed)?);
        if (requested.dev(), requested.ino()) == (own.dev(), own.ino()) {
            return Err(InterfaceError::NodeNamespace(path.to_owned()));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// Does something in it, in a thread of its own: a namespace is a thread's, and this one's stays as it is.
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
