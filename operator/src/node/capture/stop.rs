//! Requests to end: signals, and the end of standard input, by which a remote client tells that it
//! has gone.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// What ends a capture early.
#[derive(Debug)]
pub(super) struct StopRequests {
    signals: SignalFd,
    /// None if it is not to end with its input.
    input: Option<File>,
}

impl StopRequests {
    /// From this call on SIGINT and SIGTERM do not end the process, whose only thread this is.
    pub(super) fn new(until_stdin_ends: bool) -> io::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.add(Signal::SIGHUP);
        signals.thread_block()?;
        let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let input = until_stdin_ends.then(|| io::stdin().as_fd().try_clone_to_owned().map(File::from));
        Ok(Self { signals, input: input.transpose()? })
    }

    /// Whether it was requested.
    pub(super) fn is_requested(&mut self) -> bool {
        matches!(self.signals.read_signal(), Ok(Some(_)) | Err(Errno::EBADF)) || self.has_input_ended()
    }

    /// What is there to read is of no interest.
    fn has_input_ended(&mut self) -> bool {
        let Some(input) = &mut self.input else { return false };
        let mut ignored = [0; 256];
        is_readable(input.as_fd()) && matches!(input.read(&mut ignored), Ok(0) | Err(_))
    }
}

fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    let mut descriptors = [PollFd::new(descriptor, PollFlags::POLLIN)];
    poll(&mut descriptors, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}
