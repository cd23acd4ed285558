//! Runs a program that may take no longer than it is given.

use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// More output than this is not a CNI result.
const OUTPUT_MAX: u64 = 1 << 20;
/// How much of the output an error shows, in characters.
const LAST_WORDS: usize = 400;
/// How long a program may be busy, that is, open for writing.
const BUSY_PATIENCE: Duration = Duration::from_secs(2);

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// How.
    pub(super) status: ExitStatus,
    /// What it wrote to standard output.
    pub(super) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Finished {
    /// The end of what it wrote, for a person.
    pub(super) fn last_words(&self) -> String {
        let written = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        let text = String::from_utf8_lossy(written);
        let text = text.trim();
        text.chars().skip(text.chars().count().saturating_sub(LAST_WORDS)).collect()
    }
}

/// Runs `program` with `input` on standard input, in this process's environment with `variables` set. Gives nothing when it had not ended
/// after `patience`; it is killed then.
pub(super) fn run<'a>(
    program: &Path,
    variables: impl Iterator<Item = (&'static str, &'a OsStr)>,
    input: &[u8],
    patience: Duration,
) -> io::Result<Option<Finished>> {
    // Files, not pipes: neither side ever waits for the other, and a grandchild that keeps one open holds nobody up.
    let (mut stdin, mut stdout, mut stderr) = (memory_file()?, memory_file()?, memory_file()?);
    stdin.write_all(input)?;
    stdin.rewind()?;
    let mut command = Command::new(program);
    command.envs(variables).stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let started = Instant::now();
    let mut child = spawn(&mut command)?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let elapsed = started.elapsed();
        if elapsed >= patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        // Looked at often in the beginning, when most programs end.
        sleep((elapsed / 8).clamp(Duration::from_micros(100), Duration::from_millis(5)));
    };
    Ok(Some(Finished { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? }))
}

/// An installer that writes the program at this moment makes it busy; it is tried again.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let started = Instant::now();
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && started.elapsed() < BUSY_PATIENCE => {
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
