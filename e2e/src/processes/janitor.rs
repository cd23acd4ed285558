//! Removes what the kernel does not remove when a test bed ends: its control groups and its folder.
//!
//! The janitor is a process of its own, outside the test bed, because the test bed may be killed at
//! any moment. It waits for the end of a pipe that only the test bed's first process holds open.

use std::fs;
use std::io::{self, PipeWriter, Read};
use std::process::{Child, Stdio};

use crate::host::cgroups;
use crate::host::command;
use crate::host::wait;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::progress;

/// The hidden subcommand that [`work`] is for.
pub const ROLE: &str = "internal-janitor";

/// A janitor at work, seen from the test bed's first process.
#[derive(Debug)]
pub struct Janitor {
    process: Child,
    lifeline: PipeWriter,
}

impl Janitor {
    /// Starts a janitor for the test bed in `folder`. It cleans up when this value is dropped or
    /// this process ends, however it ends.
    ///
    /// # Errors
    /// When the process cannot be started.
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

    /// Has the test bed cleaned up and waits for it.
    pub fn finish(mut self) {
        drop(self.lifeline);
        let _ = self.process.wait();
    }
}

/// The janitor's own process.
pub fn work(folder: &TestbedFolder) {
    // A session of its own: neither Ctrl-C nor the end of the terminal may stop it.
    let _ = nix::unistd::setsid();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // The kernel takes its time to end all processes.
    let cleaned = wait::until(wait::limit(), || {
        let groups_gone = cgroups::remove(&folder.id());
        groups_gone && remove_folder(folder)
    });
    if !cleaned {
        progress::line(&format!(
            "world: {} or control groups of that name could not be removed; is a process of the test bed still alive?",
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
