//! `/run/usnet/state.json`: the agent's report of its node, with the fields of the status of a
//! `UserspaceNodeState`, for users and programs on the node itself. It is written with and without
//! an API server.

use crate::standalone::problem::Problem;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use usnet_crds::UserspaceNodeStateStatus;
use usnet_dataplane::atomic_file::{self, Durability, Error};
use usnet_dataplane::paths::NodePaths;

/// The report of a node with ten thousand networks needs less.
const SIZE_MAX: u64 = 64 << 20;

/// The agent's report of its node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateFile {
    /// The layout of this file; [`StateFile::VERSION`] when written by this release.
    pub version: u32,
    /// The name of the node.
    pub node: String,
    /// The folder of manifests that the agent follows; none when it follows the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifests: Option<PathBuf>,
    /// What is wrong in that folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_problems: Vec<Problem>,
    /// The status of the node.
    #[serde(flatten)]
    pub status: UserspaceNodeStateStatus,
}

impl StateFile {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The last report of this node's agent; none when no agent has run since the node started.
    ///
    /// # Errors
    /// When the file cannot be read or was written by a later release.
    pub fn read(paths: &NodePaths) -> Result<Option<Self>, Error> {
        atomic_file::read(&paths.state_file(), Self::VERSION, SIZE_MAX)
    }

    /// Writes the file if that changes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, paths: &NodePaths) -> Result<(), Error> {
        atomic_file::create_folder(&paths.run, 0o700)?;
        atomic_file::write_if_changed(&paths.state_file(), self, Durability::Process).map(drop)
    }
}

/// Held by an agent while it runs; the kernel releases it when the process ends.
#[derive(Debug)]
pub struct AgentLock(#[expect(dead_code, reason = "the kernel releases the lock when the file is closed")] File);

impl AgentLock {
    /// Takes the lock of this node's agent; none when another agent holds it.
    ///
    /// # Errors
    /// When the run folder cannot be used.
    pub fn acquire(paths: &NodePaths) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(&paths.run)?;
        let path = lock_file(paths);
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        // A file that is open for writing would keep the file system from being made read-only.
        let file = File::open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Whether the agent of this node runs.
pub fn is_agent_running(paths: &NodePaths) -> bool {
    File::open(lock_file(paths)).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn lock_file(paths: &NodePaths) -> PathBuf {
    paths.run.join(".agent.lock")
}
