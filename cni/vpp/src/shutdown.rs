//! The end of a connection that still works.
//!
//! VPP (seen with 26.06) takes the end of a client's socket for one only if `errno` is not EAGAIN, and nothing sets it
//! before. When it still is from an earlier answer that did not fit, as after a dump of some hundred interfaces, VPP
//! reads the end again and again and does nothing else for ever. A client that asks to be deleted is closed by VPP.

use crate::endpoint::Endpoint;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv, send};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The longest wait for VPP, which takes less than a millisecond. One that hangs is left without a goodbye.
const LIMIT: Duration = Duration::from_millis(200);
const READ_SIZE: usize = 4096;

/// Asks VPP to close the connection and waits until it has.
///
/// This blocks, at most [`LIMIT`], and is for `Drop`: there an ended runtime or an aborted task waits for nothing else.
pub(crate) fn close(endpoint: &mut Endpoint, socket: &impl AsFd) {
    if endpoint.close() {
        // It was the last that anybody wanted of VPP: an error leaves nothing to do.
        let _failed = until_closed(endpoint, socket.as_fd(), Instant::now() + LIMIT);
    }
}

/// Writes what is to be written and reads what comes, to its end.
fn until_closed(endpoint: &mut Endpoint, socket: BorrowedFd<'_>, deadline: Instant) -> nix::Result<()> {
    let mut buffer = [0; READ_SIZE];
    loop {
        wait(endpoint, socket, deadline)?;
        if !endpoint.outgoing().is_empty() {
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
            endpoint.sent(unless_would_block(send(socket.as_raw_fd(), endpoint.outgoing(), flags))?.unwrap_or(0));
        }
        if unless_would_block(recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT))? == Some(0) {
            return Ok(());
        }
    }
}

fn wait(endpoint: &Endpoint, socket: BorrowedFd<'_>, deadline: Instant) -> nix::Result<()> {
    let mut interest = PollFlags::POLLIN;
    if !endpoint.outgoing().is_empty() {
        interest |= PollFlags::POLLOUT;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket, interest)], timeout) {
        Ok(0) => Err(Errno::ETIMEDOUT),
        Ok(_) | Err(Errno::EINTR) if left.is_zero() => Err(Errno::ETIMEDOUT),
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Nothing instead of the error that says that the socket is not ready.
fn unless_would_block(moved: nix::Result<usize>) -> nix::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}
