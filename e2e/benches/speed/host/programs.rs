//! The release binaries under test, and how long a program takes.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The binaries that are measured.
pub(crate) struct Programs {
    /// The operator.
    pub(crate) usnet: PathBuf,
    /// The CNI plugin.
    pub(crate) userspace: PathBuf,
    /// What the plugin is compared with.
    pub(crate) ideal: PathBuf,
}

impl Programs {
    /// From `USNET_BINARIES`, which `make bench` sets to the folder of the static release binaries.
    pub(crate) fn from_environment() -> Self {
        let folder = env::var_os("USNET_BINARIES")
            .expect("USNET_BINARIES must name the folder of the release binaries: use `make bench`");
        let folder = PathBuf::from(folder);
        Self { usnet: folder.join("usnet"), userspace: folder.join("userspace"), ideal: folder.join("ideal") }
    }

    /// How long a process of the plugin takes that does nothing: `VERSION`, from exec to exit.
    pub(crate) fn start(&self) -> Duration {
        timed(Command::new(&self.userspace).env("CNI_COMMAND", "VERSION").stdin(Stdio::null())).0
    }
}

/// A program of the test bed, if `make bench` has built it.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("USNET_TOOLS")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// How long a command takes from exec to exit, and its output; it must succeed.
pub(crate) fn timed(command: &mut Command) -> (Duration, String) {
    let (took, output) = tried(command);
    (took, output.unwrap_or_else(|text| panic!("{command:?} failed: {text}")))
}

/// The same; the output of a command that fails is an error.
pub(crate) fn tried(command: &mut Command) -> (Duration, Result<String, String>) {
    let start = Instant::now();
    let output = command.stderr(Stdio::piped()).output().expect("the program starts");
    let took = start.elapsed();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return (took, Ok(text));
    }
    (took, Err(format!("{}: {text} {}", output.status, String::from_utf8_lossy(&output.stderr))))
}
