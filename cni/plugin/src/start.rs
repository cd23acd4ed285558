//! The start of the program, in place of that of the standard library.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::ffi::{c_char, c_int};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, IntoRawFd};

/// Called by the C library, which has prepared the arguments and the environment.
#[expect(unsafe_code, reason = "the C library finds this function by its name, which no other one has")]
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _arguments: *const *const c_char) -> c_int {
    open_missing_streams();
    ignore_broken_pipes();
    c_int::from(!usnet_plugin::call::main())
}

/// A standard stream that the caller closed would be the next file that is opened, and the result
/// would be printed into that.
fn open_missing_streams() {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let mut streams =
        [input.as_fd(), output.as_fd(), errors.as_fd()].map(|stream| PollFd::new(stream, PollFlags::empty()));
    if poll(&mut streams, PollTimeout::ZERO).is_ok() {
        let is_closed = |stream: &&PollFd<'_>| stream.revents().is_some_and(|it| it.contains(PollFlags::POLLNVAL));
        for _ in streams.iter().filter(is_closed) {
            // It gets the lowest number that is free, and is never closed.
            let _stream = OpenOptions::new().read(true).write(true).open("/dev/null").map(IntoRawFd::into_raw_fd);
        }
    }
}

/// Writing to a pipe whose reader is gone is an error, and not the end of the program.
fn ignore_broken_pipes() {
    // SAFETY: There is no handler, and nothing else changes how this signal is handled.
    #[expect(unsafe_code, reason = "handlers of signals are unsafe; this is none")]
    let _before = unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) };
}
