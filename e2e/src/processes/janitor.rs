//! Removes what the kernel leaves of a test bed: its control groups and its folder.
//!
//! The janitor is a process outside of the test bed, because the test bed may be killed at any
//! time. It waits for the end of a pipe that only the launcher keeps open.

use std::fs;
use std::io::{self, PipeWriter, Read};
use std::process::{Child, Stdio};

use crate::host::cgroups;
use crate::host::command;
use crate::host::wait;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;

/// The hidden subcommand of [`run`].
pub const ROLE: &str = "internal-janitor";

/// A running janitor, as the launcher has it.
#[derive(Debug)]
pub struct Janitor {
    process: Child,
    lifeline: PipeWriter,
}

impl Janitor {
    /// Starts a janitor for the test bed in `folder`. It cleans up when this value is dropped or
    /// this process exits for whatever reason.
    pub fn start(folder: &TestbedFolder) -> io::Result<Self> {
        let (reader, lifeline) = io::pipe()?;
        let process = command::this_program()?
            .arg(ROLE)
            .arg(folder.root())
            .current_dir("/")
            .stdin(reader)
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { process, lifeline })
    }

    /// Starts the cleanup and waits for its end.
    pub fn finish(mut self) {
        drop(self.lifeline);
        let _ = self.process.wait();
    }
}

/// Runs the janitor.
pub fn run(folder: &TestbedFolder) {
    // In a session of its own, neither Ctrl-C nor the end of the terminal stops the janitor.
    let _ = nix::unistd::setsid();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // The kernel needs some time to end all processes.
    let cleaned = wait::until(wait::limit(), || {
        let groups_gone = cgroups::remove(&folder.id());
        groups_gone && remove_folder(folder)
    });
    if !cleaned {
        progress::line(&format!(
            "world: {} or its control groups could not be removed; is a process of the test bed still alive?",
            folder.root().display()
        ));
    }
}

fn remove_folder(folder: &TestbedFolder) -> bool {
    match fs::remove_dir_all(folder.root()) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
