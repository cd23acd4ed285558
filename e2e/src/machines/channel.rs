//! Commands in a machine: a line with the command goes to one of several serial ports, and a line
//! with its result comes back (`guest/start` has the other end). The ports are pairs of named
//! pipes, which any process of this machine may use, one at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::host::wait;

/// The number of commands that can run at once.
pub const COUNT: usize = 6;

/// How long a command waits for a channel.
const FREE_WITHIN: Duration = Duration::from_secs(120);

/// How much longer than its limit a command may take: the machine may have to wait for its turn.
const GRACE: Duration = Duration::from_secs(20);

/// What a command in a machine left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    #[error("cannot use {0}")]
    File(String, #[source] io::Error),
    #[error("all {COUNT} channels are in use")]
    NoneFree,
    #[error("the machine has ended")]
    Ended,
    #[error("the machine does not respond")]
    NoAnswer,
    #[error("the machine answers {0:?}")]
    Answer(String),
}

/// The name of a channel in QEMU, and the path of its pipes below the machine's folder.
pub(super) fn name(number: usize) -> String {
    format!("command-{number}")
}

/// Creates the pipes, before QEMU starts. Those of an earlier QEMU, which may hold requests, go.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    for number in 0..COUNT {
        for end in ["in", "out"] {
            let pipe = folder.join(format!("{}.{end}", name(number)));
            match fs::remove_file(&pipe) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR)?,
            }
        }
    }
    Ok(())
}

/// Runs a shell script in the machine of a folder, which `timeout` ends after the limit (status
/// 124).
pub fn run(folder: &Path, script: &str, limit: Duration) -> Result<Output, ChannelError> {
    let (number, _lock) = free_channel(folder)?;
    let path = folder.join(name(number));
    let pipe = |end: &str| PathBuf::from(format!("{}.{end}", path.display()));
    let answers = open(&pipe("out"), OpenOptions::new().read(true))?;
    let mut requests = open(&pipe("in"), OpenOptions::new().write(true))?;
    let failed = |error| ChannelError::File(path.display().to_string(), error);
    fcntl(&requests, FcntlArg::F_SETFL(OFlag::empty())).map_err(|errno| failed(errno.into()))?;
    let id = request_id();
    let line = format!("{id} {} {}\n", limit.as_secs().max(1), BASE64_STANDARD.encode(script));
    requests.write_all(line.as_bytes()).map_err(failed)?;
    // Others are results that no process waited for.
    let result = read_line(answers, &format!("{id} "), Instant::now() + limit + GRACE)?;
    parse(&result).ok_or(ChannelError::Answer(result))
}

/// Opens a pipe without waiting for QEMU at its other end.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File, ChannelError> {
    let file = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    file.map_err(|error| match error.raw_os_error() == Some(Errno::ENXIO as i32) {
        true => ChannelError::Ended,
        false => ChannelError::File(path.display().to_string(), error),
    })
}

/// Reads until a line with this start, and returns its rest.
fn read_line(mut pipe: File, start: &str, deadline: Instant) -> Result<String, ChannelError> {
    let (mut text, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let lines = String::from_utf8_lossy(&text);
        let complete = lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        if let Some(rest) = complete.filter_map(|line| line.strip_prefix(start)).next() {
            return Ok(rest.to_owned());
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let failed = |error: io::Error| ChannelError::File("a channel".to_owned(), error);
        let ready = poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], timeout);
        match ready.map_err(|errno| failed(errno.into()))? {
            0 if left.is_zero() => return Err(ChannelError::NoAnswer),
            0 => {}
            _ => match pipe.read(&mut part).map_err(failed)? {
                0 => return Err(ChannelError::Ended),
                length => text.extend(part.iter().take(length)),
            },
        }
    }
}

/// A number that no other request has.
fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{}-{time}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A channel that no other process uses, as long as the lock is held.
fn free_channel(folder: &Path) -> Result<(usize, Flock<File>), ChannelError> {
    let mut found = None;
    let lock = |number| {
        let path = folder.join(format!("{}.lock", name(number)));
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|error| ChannelError::File(path.display().to_string(), error))?;
        Ok::<_, ChannelError>(Flock::lock(file, FlockArg::LockExclusiveNonblock).ok())
    };
    wait::try_until(wait::scaled(FREE_WITHIN), || {
        for number in 0..COUNT {
            if let Some(lock) = lock(number)? {
                found = Some((number, lock));
                return Ok(true);
            }
        }
        Ok::<_, ChannelError>(false)
    })?;
    found.ok_or(ChannelError::NoneFree)
}

/// Parses an exit status, standard output and errors. The texts have a character before them, so
/// that they are never empty.
fn parse(result: &str) -> Option<Output> {
    let mut words = result.split(' ');
    let status = words.next()?.parse().ok()?;
    let mut text =
        || Some(String::from_utf8_lossy(&BASE64_STANDARD.decode(words.next()?.strip_prefix('.')?).ok()?).into_owned());
    Some(Output { status, stdout: text()?, stderr: text()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_a_status_and_texts_that_may_be_empty() {
        let expected = Output { status: 3, stdout: "hello\n".to_owned(), stderr: String::new() };
        assert_eq!(parse("3 .aGVsbG8K ."), Some(expected));
        for broken in ["", "3", "3 .aGVsbG8K", "x . .", "3 aGVsbG8K ."] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }
}
