//! Runs a program with a timeout.

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The number of bytes of the output that are read: a CNI result has some hundred. A plugin that
/// prints endlessly must not exhaust the node's memory.
const OUTPUT_MAX: u64 = 1 << 20;
/// How much of the output an error shows, in characters: enough for the last lines of a stack
/// trace, and little enough for the message of an event, which has at most 1,024 characters.
const OUTPUT_TAIL_MAX: usize = 400;
/// How long a program may be busy, that is, open for writing. An installer copies it within
/// milliseconds. If it takes longer it hangs, and then the error should say so.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The output of a program that has exited.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    /// The end of standard error or, if that is empty, of standard output, for messages.
    pub(super) fn tail(&self) -> String {
        let written = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let text = String::from_utf8_lossy(written);
        let text = text.trim();
        text.chars().skip(text.chars().count().saturating_sub(OUTPUT_TAIL_MAX)).collect()
    }
}

#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    /// Standard input.
    pub(super) input: &'a [u8],
    /// A file descriptor that the program inherits.
    pub(super) inherited: Option<BorrowedFd<'a>>,
    /// After this time the program is killed.
    pub(super) timeout: Duration,
}

impl Program<'_> {
    /// Runs the program in this process's environment with `variables` set. Returns nothing when it
    /// timed out and was killed.
    pub(super) fn run<'a>(
        &self,
        variables: impl Iterator<Item = (&'static str, &'a OsStr)>,
    ) -> io::Result<Option<Output>> {
        // With files instead of pipes neither side ever blocks the other, and a grandchild that
        // keeps one open does not block the call.
        let (mut stdin, mut stdout, mut stderr) = (memory_file()?, memory_file()?, memory_file()?);
        stdin.write_all(self.input)?;
        stdin.rewind()?;
        let mut command = Command::new(self.path);
        command.envs(variables).stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let mut child = self.spawn(&mut command)?;
        let Some(status) = self.wait(&mut child)? else { return Ok(None) };
        Ok(Some(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? }))
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let _inherited = self.inherited.map(inheritable).transpose()?;
        spawn(command)
    }

    fn wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            let elapsed = started.elapsed();
            if elapsed >= self.timeout {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            // The pauses are short in the beginning, when most programs end: host-local takes
            // milliseconds, which a fixed pause would double. For slow programs 5 ms do not matter.
            sleep((elapsed / 8).clamp(Duration::from_micros(100), Duration::from_millis(5)));
        }
    }
}

/// Duplicates a descriptor without close-on-exec. The next program inherits the duplicate, and it
/// is closed here when it is dropped.
fn inheritable(file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let copy = file.try_clone_to_owned()?;
    fcntl(&copy, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(copy)
}

/// Starts a program, and repeats that while an installer writes the program's file.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let started = Instant::now();
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && started.elapsed() < BUSY_TIMEOUT => {
                sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

fn memory_file() -> io::Result<File> {
    Ok(File::from(memfd_create("usnet", MFdFlags::MFD_CLOEXEC)?))
}

fn content(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut content = Vec::new();
    file.take(OUTPUT_MAX).read_to_end(&mut content)?;
    Ok(content)
}
