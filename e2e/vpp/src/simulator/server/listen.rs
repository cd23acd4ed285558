//! Listening sockets.

use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen as listen_at, socket};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The most bytes that are read at once.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// Listens at a path. A file there is from a VPP that has ended.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    remove(path)?;
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Like [`listen`], for clients that send and receive packets.
pub(crate) fn listen_for_packets(path: &Path) -> io::Result<OwnedFd> {
    remove(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    bind(listener.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen_at(&listener, Backlog::MAXCONN)?;
    Ok(listener)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
