//! Sending frames (IO).

use crate::frames::Frame;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{self, MsgFlags};
use smoltcp::phy::{Medium, RawSocket};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::thread;

/// Sends frames over a device of a network namespace, by default of the one of this thread.
pub fn send(namespace: Option<&Path>, device: &str, frames: &[Frame]) -> io::Result<()> {
    let Some(namespace) = namespace else { return send_here(device, frames) };
    let enter_and_send = || {
        setns(File::open(namespace)?, CloneFlags::CLONE_NEWNET)?;
        send_here(device, frames)
    };
    thread::scope(|scope| scope.spawn(enter_and_send).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread that sent them panicked")))
}

fn send_here(device: &str, frames: &[Frame]) -> io::Result<()> {
    let socket = RawSocket::new(device, Medium::Ethernet)?;
    for frame in frames {
        // Not by the socket's own method, which panics when the device goes.
        match socket::send(socket.as_raw_fd(), &frame.bytes, MsgFlags::empty()) {
            // A queue that is full loses frames.
            Ok(_) | Err(Errno::EAGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
