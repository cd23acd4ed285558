//! `/run/usnet/state.json`: the agent's report of its node, with the fields of the status of a
//! `UserspaceNodeState`, for users and programs on the node itself. It is written with and without
//! an API server.

use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use usnet_crds::UserspaceNodeStateStatus;
use usnet_dataplane::atomic_file::{self, Durability, Error};
use usnet_dataplane::paths::NodePaths;

/// The maximum size of the file in bytes. The report of a node with ten thousand networks is
/// smaller.
const SIZE_MAX: u64 = 64 << 20;

/// The agent's report of its node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateFile {
    /// The format of this file; [`StateFile::VERSION`] if written by this release.
    pub version: u32,
    /// The name of the node.
    pub node: String,
    /// The folder of manifests that the agent follows; none when it follows the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifests: Option<PathBuf>,
    /// The problems of that folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_problems: Vec<Problem>,
    /// The status of the node.
    #[serde(flatten)]
    pub status: UserspaceNodeStateStatus,
}

impl StateFile {
    /// The format that this release writes.
    pub const VERSION: u32 = 1;

    /// Reads the last report of this node's agent; none if no agent has run since the node started.
    ///
    /// # Errors
    /// The file cannot be read, or was written by a later release.
    pub fn read(paths: &NodePaths) -> Result<Option<Self>, Error> {
        atomic_file::read(&paths.state_file(), Self::VERSION, SIZE_MAX)
    }

    /// Writes the file if that changes it.
    pub fn write(&self, paths: &NodePaths) -> Result<(), Error> {
        atomic_file::create_folder(&paths.run, 0o700)?;
        atomic_file::write_if_changed(&paths.state_file(), self, Durability::Process).map(drop)
    }
}

/// The lock that an agent holds while it runs. The kernel releases it when the process ends.
#[derive(Debug)]
pub struct AgentLock(#[expect(dead_code, reason = "the kernel releases the lock when the file is closed")] File);

impl AgentLock {
    /// Takes the lock of this node's agent; none if another agent holds it.
    pub fn acquire(paths: &NodePaths) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(&paths.run)?;
        let path = lock_file(paths);
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        // A file that is open for writing would prevent a remount of the file system as read-only.
        let file = File::open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

pub fn is_agent_running(paths: &NodePaths) -> bool {
    File::open(lock_file(paths)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn lock_file(paths: &NodePaths) -> PathBuf {
    paths.run.join(".agent.lock")
}
