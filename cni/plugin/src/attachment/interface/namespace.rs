//! The pod's network namespace.

use super::error::InterfaceError;
use nix::libc;
use nix::sched::{CloneFlags, setns};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::abort;

/// The network namespace of the thread that reads this path.
const CURRENT: &str = "/proc/thread-self/ns/net";

/// An open network namespace. The kernel keeps it as long as it is open.
#[derive(Debug)]
pub(super) struct PodNamespace {
    pub(super) file: File,
    /// The namespace of the node.
    own: File,
    path: PathBuf,
}

impl PodNamespace {
    pub(super) fn open(path: &Path) -> Result<Self, InterfaceError> {
        let failed = |source: io::Error| InterfaceError::Namespace { path: path.to_owned(), source };
        // The path may not be a namespace but, for example, a FIFO: opening it must not block.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        let own = File::open(CURRENT).map_err(failed)?;
        let [requested, found] = [&file, &own].map(File::metadata);
        let (requested, found) = (requested.map_err(failed)?, found.map_err(failed)?);
        if (requested.dev(), requested.ino()) == (found.dev(), found.ino()) {
            return Err(InterfaceError::NodeNamespace(path.to_owned()));
        }
        Ok(Self { file, own, path: path.to_owned() })
    }

    /// Runs a function in the namespace. The thread returns from it to that of the node: another
    /// thread would take five times as many system calls.
    pub(super) fn within<T>(&self, run: impl FnOnce() -> Result<T, InterfaceError>) -> Result<T, InterfaceError> {
        let failed = |source| InterfaceError::Namespace { path: self.path.clone(), source };
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|error| failed(error.into()))?;
        let _return = Return(&self.own);
        run()
    }
}

/// Brings the thread back to this namespace.
struct Return<'a>(&'a File);

impl Drop for Return<'_> {
    fn drop(&mut self) {
        // All later steps would change the pod's devices instead of the node's. From here the next
        // DEL cleans up.
        if setns(self.0, CloneFlags::CLONE_NEWNET).is_err() {
            abort();
        }
    }
}
