//! Network, mount and pid namespaces that end with the test, however it ends.

use crate::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The first process of the pid namespace. It mounts the namespace's own devices under /sys, then
/// waits for the end of standard input, a pipe that only the test holds; when it exits, the kernel
/// kills all other processes of the namespace. It also removes the folder, because a test that was
/// killed cannot.
const FIRST_PROCESS: &str = "mount -t sysfs sysfs /sys && ip link set lo up && echo ready && cat >/dev/null
rm -rf -- \"$1\"";

/// Namespaces that exist as long as a process in them.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// The process of `unshare`, which is in the network and mount namespaces, and the parent of
    /// the first process.
    keeper: Child,
}

impl Namespaces {
    /// Creates the namespaces. `folder` is removed when they end.
    pub(crate) fn start(folder: &Path) -> Result<Self, Error> {
        let mut command = Command::new("unshare");
        // Mounts of the machine are propagated into the namespace (a test may bind-mount a pod's
        // folder), and mounts inside stay inside.
        command.args(["--net", "--mount", "--propagation=slave", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", FIRST_PROCESS, "sh"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let keeper = command.spawn().map_err(|source| Error::program(&command, source))?;
        let mut namespaces = Self { keeper };
        namespaces.wait_until_ready()?;
        Ok(namespaces)
    }

    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let mut line = String::new();
        if let Some(output) = self.keeper.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(|error| Error::Namespaces(error.to_string()))?;
        }
        if line == "ready\n" {
            return Ok(());
        }
        // The output ended, so the first process failed. Closing its input makes sure that it ends.
        drop(self.keeper.stdin.take());
        let mut problem = String::new();
        if let Some(mut errors) = self.keeper.stderr.take() {
            errors.read_to_string(&mut problem).map_err(|error| Error::Namespaces(error.to_string()))?;
        }
        Err(Error::Namespaces(problem.trim().to_owned()))
    }

    pub(crate) fn network(&self) -> PathBuf {
        self.path("net")
    }

    fn path(&self, kind: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/{kind}", self.keeper.id()))
    }

    /// Returns a command that runs in all the namespaces.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        for (option, kind) in [("--net", "net"), ("--mount", "mnt"), ("--pid", "pid_for_children")] {
            command.arg(format!("{option}={}", self.path(kind).display()));
        }
        command.arg("--").arg(program);
        command
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Nothing can be done about an error here: the processes were told to end.
        let _ended = self.keeper.wait();
    }
}
