//! Requests to stop: signals, and the end of standard input, which shows that a remote client has
//! gone.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// The sources of requests.
#[derive(Debug)]
pub(super) struct StopRequests {
    signals: SignalFd,
    /// Standard input; none if the capture does not depend on it.
    input: Option<File>,
}

impl StopRequests {
    /// Blocks SIGINT, SIGTERM and SIGHUP, so that they do not end the process, whose only thread
    /// this is.
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

    /// Whether a stop was requested.
    pub(super) fn is_requested(&mut self) -> bool {
        matches!(self.signals.read_signal(), Ok(Some(_)) | Err(Errno::EBADF)) || self.has_input_ended()
    }

    /// Whether standard input has ended. Its content is ignored.
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
