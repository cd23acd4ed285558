//! The status of each network, written by the agent for the plugin: whether pods can attach, or why
//! not.
//!
//! A file with `Programmed` is a guarantee: the engine was read after the last change and has the
//! bridge. The agent revokes it by overwriting it with `Unavailable` or `Draining`, so that the
//! plugin can report the reason; the file is deleted with the network.

use crate::model::memif::MemifSocketIds;
use crate::store::atomic_file::{self, Durability};
use crate::store::locks::Lock;
use crate::store::paths::NodePaths;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use usnet_crds::{NetworkName, NodeNetwork};

pub use crate::store::atomic_file::Error;

/// A write takes microseconds; only a writer that was stopped in the middle can hold the others up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// As much as the API server takes for one object, and room for what is not in it.
const SIZE_MAX: u64 = 4 << 20;
/// From so many files on two threads write them: below, the second one takes as long to start as it
/// saves. A third one only waits for the directory.
const SHARED_MIN: usize = 64;
const LOCK_FILE: &str = ".lock";
const EXTENSION: &str = ".json";

/// The status of one network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state")]
pub enum NetworkFile {
    /// The engine has the bridge: pods may attach.
    Programmed(ProgrammedNetwork),
    /// The network is being deleted: running pods keep it, new ones are refused.
    Draining { name: NetworkName },
    /// Pods cannot attach now.
    Unavailable {
        name: NetworkName,
        /// A reason in CamelCase, for example `EngineUnreachable`.
        reason: String,
        message: String,
    },
}

/// A network that pods may attach to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgrammedNetwork {
    /// The layout of this file; [`ProgrammedNetwork::VERSION`] when written by this release.
    pub version: u32,
    /// The network as this node has it.
    pub network: Arc<NodeNetwork>,
    pub engine_socket: PathBuf,
    /// Counts the restarts of the engine that the agent has observed: a changed number means that
    /// there was one.
    pub epoch: u64,
    /// The memif socket ids that usnet owns, if the engine is VPP.
    #[serde(default)]
    pub memif_socket_ids: MemifSocketIds,
    /// Whether its pods leave checksums and the splitting of packets to the engine, as soon as that
    /// takes such packets from their devices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checksum_offload: bool,
    /// The NUMA node of the NIC by which the network leaves the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

impl ProgrammedNetwork {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;
}

impl NetworkFile {
    /// The network that this is about.
    pub fn name(&self) -> &NetworkName {
        match self {
            Self::Programmed(programmed) => &programmed.network.name,
            Self::Draining { name } | Self::Unavailable { name, .. } => name,
        }
    }

    /// The NUMA node of the NIC by which the network leaves the node.
    pub fn numa_node(&self) -> Option<u32> {
        match self {
            Self::Programmed(programmed) => programmed.numa_node,
            Self::Draining { .. } | Self::Unavailable { .. } => None,
        }
    }
}

/// A file as it was written. Each write makes another file, and a change in place another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { inode: metadata.ino(), size: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

/// The network files of a node.
#[derive(Debug, Clone)]
pub struct NetworkFiles {
    folder: PathBuf,
}

impl NetworkFiles {
    /// The files under these paths. Nothing is read or created yet.
    pub fn new(paths: &NodePaths) -> Self {
        Self { folder: paths.networks() }
    }

    /// Reads the status of a network; `None` if the agent does not know it.
    ///
    /// # Errors
    /// The file cannot be read or was written by a later release.
    pub fn read(&self, name: &NetworkName) -> Result<Option<NetworkFile>, Error> {
        let path = self.path(name);
        match atomic_file::read::<NetworkFile>(&path, ProgrammedNetwork::VERSION, SIZE_MAX)? {
            Some(file) if file.name() != name => {
                Err(Error::Misplaced { path, content: format!("network {}", file.name()) })
            }
            file => Ok(file),
        }
    }

    /// By what a later change of a network's file is noticed; none if there is no file.
    pub fn stamp(&self, name: &NetworkName) -> Option<FileStamp> {
        fs::metadata(self.path(name)).ok().map(|found| FileStamp::of(&found))
    }

    /// Writes the file of a network if its content changes. Returns whether it was written. Readers
    /// see the previous or the new content.
    ///
    /// # Errors
    /// The directory or the file cannot be written.
    pub fn write(&self, file: &NetworkFile) -> Result<bool, Error> {
        let _lock = self.lock()?;
        atomic_file::write_if_changed(&self.path(file.name()), file, Durability::Process)
    }

    /// Removes the file of a network, if there is one.
    pub fn remove(&self, name: &NetworkName) -> Result<(), Error> {
        self.lock()?.remove(name)
    }

    /// The networks that have a file, sorted. Files whose name is not that of a network are
    /// ignored.
    pub fn list(&self) -> Result<Vec<NetworkName>, Error> {
        let names = atomic_file::names(&self.folder)?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(EXTENSION)?.parse().ok()).collect())
    }

    /// Locks the files, to write or remove many: while an agent is replaced there may be two for a
    /// moment. The folder is created when it is missing.
    ///
    /// # Errors
    /// The folder or the lock cannot be used.
    pub fn lock(&self) -> Result<LockedFiles<'_>, Error> {
        // Not for root only: the engine may run as another user and has its sockets below this
        // directory.
        atomic_file::create_folder(&self.folder, 0o755)?;
        let path = self.folder.join(LOCK_FILE);
        let lock = Lock::take(&path, &[0], WRITE_TIMEOUT)?;
        let lock = lock.ok_or_else(|| Error::file("lock", &path, io::ErrorKind::WouldBlock.into()))?;
        Ok(LockedFiles { files: self, _lock: lock })
    }

    fn path(&self, name: &NetworkName) -> PathBuf {
        self.folder.join(format!("{name}{EXTENSION}"))
    }
}

/// The network files, locked for one writer.
#[derive(Debug)]
pub struct LockedFiles<'a> {
    files: &'a NetworkFiles,
    _lock: Lock,
}

impl LockedFiles<'_> {
    /// Writes the file of a network, whatever it contains now.
    pub fn write(&self, file: &NetworkFile) -> Result<FileStamp, Error> {
        let path = self.files.path(file.name());
        let text = atomic_file::encode(&path, file)?;
        let written = atomic_file::write_new(&path, &text)?;
        // A new file is visible before its metadata is read: another program may have changed it
        // by then, and what it wrote must not count as ours.
        Ok(FileStamp { size: u64::try_from(text.len()).unwrap_or(u64::MAX), ..FileStamp::of(&written) })
    }

    /// Writes the files of several networks, and returns the results in the same order. One of many
    /// takes 8 µs, most of it in the kernel.
    pub fn write_all(&self, files: &[&NetworkFile]) -> Vec<Result<FileStamp, Error>> {
        let write = |part: &[&NetworkFile]| part.iter().map(|file| self.write(file)).collect::<Vec<_>>();
        if files.len() < SHARED_MIN {
            return write(files);
        }
        let (first, second) = files.split_at(files.len() / 2);
        thread::scope(|scope| {
            let other = scope.spawn(|| write(second));
            let mut results = write(first);
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            results
        })
    }

    /// Removes the file of a network, if there is one.
    pub fn remove(&self, name: &NetworkName) -> Result<(), Error> {
        atomic_file::remove(&self.files.path(name))
    }
}

#[cfg(test)]
mod tests;
