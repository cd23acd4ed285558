//! Orderly shutdown of a working connection.
//!
//! VPP (observed with 26.06) handles the end of file of a client's socket only if `errno` is not
//! EAGAIN, and does not reset it before. If it still is EAGAIN from an earlier reply that did not
//! fit into the socket, as after a dump of some hundred interfaces, VPP reads the end of file in a
//! busy loop indefinitely and does nothing else. If a client requests its deletion
//! (`sockclnt_delete`), VPP closes the socket itself.

use crate::endpoint::Endpoint;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv, send};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The longest wait for VPP, which takes less than a millisecond. If VPP hangs, the socket is
/// closed without its reply.
const LIMIT: Duration = Duration::from_millis(200);
const READ_SIZE: usize = 4096;

/// Requests VPP to close the connection and waits until it has.
///
/// This blocks, at most [`LIMIT`], and is for `Drop`: an ended runtime or an aborted task cannot
/// await anything.
pub(crate) fn close(endpoint: &mut Endpoint, socket: &impl AsFd) {
    if endpoint.close() {
        // This was the last request: there is nothing to do on an error.
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

/// `None` instead of the error that the socket is not ready.
fn unless_would_block(moved: nix::Result<usize>) -> nix::Result<Option<usize>> {
    match moved {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}
