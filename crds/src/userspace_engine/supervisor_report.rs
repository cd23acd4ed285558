//! The file by which the pod of an engine tells the agent of its node how the engine is:
//! `/run/usnet/engines/OVS.json`. The pod has no rights in the API, and the agent has those to
//! report the state of its node. A lock on the file beside it, `OVS.lock`, says that the pod lives.

use crate::EngineKind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder of the files, on the node.
pub const FOLDER: &str = "/run/usnet/engines";
/// The largest file that is read, in bytes.
pub const SIZE_MAX: u64 = 16 * 1024;

/// How an engine is that a UserspaceEngine runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupervisorReport {
    /// The name of the UserspaceEngine.
    pub object: String,
    /// How far the engine is.
    pub state: SupervisorState,
    /// Why it does not run, or what makes it worse, in one word; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it does not run, or what makes it worse, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How far an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SupervisorState {
    /// Its processes are being started.
    Starting,
    /// It cannot be started, for the reason given; it is tried again.
    Blocked,
    /// Its processes run.
    Running,
}

/// The path of the file of an engine.
pub fn path(folder: &Path, engine: EngineKind) -> PathBuf {
    folder.join(format!("{}.json", engine.traits().api_name))
}

/// The path of the lock of an engine, which its pod holds while it lives.
pub fn lock_path(folder: &Path, engine: EngineKind) -> PathBuf {
    folder.join(format!("{}.lock", engine.traits().api_name))
}
