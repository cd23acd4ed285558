//! What a test bed was asked for, handed from one of its processes to the next.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::engines::selection::Engines;
use crate::engines::vpp_program::VppProgram;
use crate::testbed::folder::TestbedFolder;

/// What the caller of `e2e/world` wants, and where its parts are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Number of nodes, 1 to 26.
    pub nodes: u8,
    /// What forwards packets on each node.
    pub engines: Engines,
    /// Which VPP the nodes run, if they run one.
    pub vpp: Option<VppProgram>,
    /// Whether usnet is installed from `config/default` before the command runs.
    pub install: bool,
    /// Folders of the programs that `e2e/tools/build` made.
    pub tools: Vec<PathBuf>,
    /// The checkout that holds `config/` and `e2e/`.
    pub checkout: PathBuf,
    /// Folder with the static binaries `usnet` and `userspace`, when they are installed.
    pub binaries: Option<PathBuf>,
    /// Archive of usnet's image, in place of one that is made from the binaries.
    pub image: Option<PathBuf>,
    /// Folder for what later test beds can use again, such as image archives.
    pub cache: PathBuf,
    /// The process that the caller started; the test bed ends with it.
    pub outer_process: u32,
    /// When the caller started it, in milliseconds since 1970.
    pub started_ms: u64,
    /// The command that runs in the test bed, with its arguments.
    pub command: Vec<String>,
}

/// Why the settings of a test bed cannot be handed on.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read or written.
    #[error("cannot access the test bed's settings in {path}")]
    File {
        /// The settings file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not what this program writes.
    #[error("the test bed's settings in {path} are not valid")]
    Format {
        /// The settings file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl Settings {
    /// Writes them into the test bed's folder.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &TestbedFolder) -> Result<(), SettingsError> {
        let path = folder.settings();
        let text =
            serde_json::to_vec_pretty(self).map_err(|source| SettingsError::Format { path: path.clone(), source })?;
        fs::write(&path, text).map_err(|source| SettingsError::File { path, source })
    }

    /// Reads them from the test bed's folder.
    ///
    /// # Errors
    /// When the file cannot be read or is not valid.
    pub fn read(folder: &TestbedFolder) -> Result<Self, SettingsError> {
        let path = folder.settings();
        let text = fs::read(&path).map_err(|source| SettingsError::File { path: path.clone(), source })?;
        serde_json::from_slice(&text).map_err(|source| SettingsError::Format { path, source })
    }

    /// PATH of the test bed's programs: its own, the Go-built ones, then the caller's.
    #[must_use]
    pub fn program_path(&self, folder: &TestbedFolder) -> String {
        let mut parts = vec![folder.programs().display().to_string()];
        parts.extend(self.tools.iter().map(|tool| tool.display().to_string()));
        parts.push(std::env::var("PATH").unwrap_or_default());
        parts.push("/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin".to_owned());
        parts.join(":")
    }

    /// Names of the nodes: `node-a`, `node-b` and so on.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        (b'a'..=b'z').take(usize::from(self.nodes)).map(|letter| format!("node-{}", char::from(letter))).collect()
    }

    /// How long ago the caller started the test bed.
    #[must_use]
    pub fn age(&self) -> Duration {
        now().saturating_sub(Duration::from_millis(self.started_ms))
    }
}

/// The time since 1970, to be compared with [`Settings::started_ms`].
#[must_use]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
