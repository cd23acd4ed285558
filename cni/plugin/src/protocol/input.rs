//! Reads standard input with a timeout and a size limit.

use crate::protocol::error::ErrorCode;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// A runtime writes the configuration before or right after it starts the plugin, which takes
/// milliseconds even on a busy node. Without a timeout a caller that keeps the pipe open would
/// leave a process behind; with a shorter one pods could fail on a node that swaps.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum length of a configuration, in bytes, which bounds the memory of a call. etcd stores
/// objects of up to 1.5 MiB by default, and `prevResult` and `runtimeConfig` are added to the
/// configuration in such an object.
const LENGTH_MAX: usize = 2 << 20;
/// The number of bytes that are read at a time: nearly all configurations have fewer.
const CHUNK: usize = 8 << 10;

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("cannot read the network configuration from standard input")]
    Unreadable(#[source] io::Error),
    #[error("the network configuration on standard input did not end within {} s", TIMEOUT.as_secs())]
    TimedOut,
    #[error("the network configuration on standard input is longer than {LENGTH_MAX} bytes")]
    TooLong,
}

impl InputError {
    pub fn code(&self) -> ErrorCode {
        ErrorCode::IoFailure
    }
}

/// Reads `input` up to its end.
pub fn read_all(mut input: impl Read + AsFd) -> Result<Vec<u8>, InputError> {
    let deadline = Instant::now() + TIMEOUT;
    let mut content = Vec::new();
    let mut chunk = [0; CHUNK];
    loop {
        let is_closed = wait_for(&input, deadline)?;
        let length = input.read(&mut chunk).map_err(InputError::Unreadable)?;
        content.extend(chunk.iter().take(length));
        if content.len() > LENGTH_MAX {
            return Err(InputError::TooLong);
        }
        // Of a pipe whose writer is gone this is the rest.
        if length == 0 || is_closed && length < CHUNK {
            return Ok(content);
        }
    }
}

/// Waits until there is something to read, or its end. Returns whether it has no writer any more.
fn wait_for(input: &impl AsFd, deadline: Instant) -> Result<bool, InputError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut watched = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, timeout) {
            Ok(0) => return Err(InputError::TimedOut),
            Ok(_) => {
                let [watched] = watched;
                return Ok(watched.revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)));
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(InputError::Unreadable(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn input_is_read_up_to_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let long = vec![b'x'; CHUNK + 1];
        writer.write_all(&long).unwrap();
        drop(writer);
        assert_eq!(read_all(reader).unwrap(), long);
    }

    #[test]
    fn oversized_input_is_rejected() {
        let zeroes = std::fs::File::open("/dev/zero").unwrap();
        assert!(matches!(read_all(zeroes), Err(InputError::TooLong)));
    }
}
