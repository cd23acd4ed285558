//! Sending frames (IO).

use crate::frames::Frame;
use nix::sched::{CloneFlags, setns};
use smoltcp::phy::{Device, Medium, RawSocket, TxToken};
use smoltcp::time::Instant;
use std::fs::File;
use std::io;
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
    let mut socket = RawSocket::new(device, Medium::Ethernet)?;
    for frame in frames {
        let token = socket.transmit(Instant::now()).ok_or(io::ErrorKind::WouldBlock)?;
        token.consume(frame.bytes.len(), |buffer| buffer.copy_from_slice(&frame.bytes));
    }
    Ok(())
}
