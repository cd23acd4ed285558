//! The settings of a test bed, which are passed from one of its processes to the next.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::engines::selection::Engines;
use crate::engines::vpp_program::VppProgram;
use crate::testbed::folder::TestbedFolder;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The number of nodes, 1 to 26.
    pub nodes: u8,
    pub engines: Engines,
    pub vpp: Option<VppProgram>,
    /// Whether usnet is installed from `config/default` before the command runs.
    pub install: bool,
    /// The folders of the programs that `e2e/tools/build` built.
    pub tools: Vec<PathBuf>,
    /// The checkout, with `config/` and `e2e/`.
    pub checkout: PathBuf,
    /// The folder with the static binaries `usnet` and `userspace`.
    pub binaries: Option<PathBuf>,
    /// The archive of usnet's image, which is used instead of the binaries.
    pub image: Option<PathBuf>,
    /// The folder of files that later test beds can reuse, such as image archives.
    pub cache: PathBuf,
    /// The process of the launcher, with which the test bed ends.
    pub launcher_process: u32,
    /// The start time of the launcher, in milliseconds since 1970.
    pub started_ms: u64,
    /// The command that runs in the test bed, with its arguments.
    pub command: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot access the test bed's settings in {path}")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the test bed's settings in {path} are not valid")]
    Format {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

impl Settings {
    pub fn write(&self, folder: &TestbedFolder) -> Result<(), SettingsError> {
        let path = folder.settings();
        let text =
            serde_json::to_vec_pretty(self).map_err(|source| SettingsError::Format { path: path.clone(), source })?;
        fs::write(&path, text).map_err(|source| SettingsError::File { path, source })
    }

    pub fn read(folder: &TestbedFolder) -> Result<Self, SettingsError> {
        let path = folder.settings();
        let text = fs::read(&path).map_err(|source| SettingsError::File { path: path.clone(), source })?;
        serde_json::from_slice(&text).map_err(|source| SettingsError::Format { path, source })
    }

    /// Returns the PATH of programs: the test bed's own folder, the Go programs, then the PATH of
    /// the user.
    #[must_use]
    pub fn program_path(&self, folder: &TestbedFolder) -> String {
        let mut parts = vec![folder.programs().display().to_string()];
        parts.extend(self.tools.iter().map(|tool| tool.display().to_string()));
        parts.push(std::env::var("PATH").unwrap_or_default());
        parts.push("/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin".to_owned());
        parts.join(":")
    }

    /// Returns the names of the nodes: `node-a`, `node-b` and so on.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        (b'a'..=b'z').take(usize::from(self.nodes)).map(|letter| format!("node-{}", char::from(letter))).collect()
    }

    /// Returns the time since the start of the test bed.
    #[must_use]
    pub fn age(&self) -> Duration {
        now().saturating_sub(Duration::from_millis(self.started_ms))
    }
}

/// Returns the time since 1970, for comparison with [`Settings::started_ms`].
#[must_use]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
