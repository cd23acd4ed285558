//! Notifications of the kernel about changed rules.

use super::NftablesError;
use crate::netlink::NetlinkError;
use netlink_sys::protocols::NETLINK_NETFILTER;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// `NFNLGRP_NFTABLES`
const GROUP: u32 = 7;
/// Bytes for one notification. A longer one is truncated, which does no harm: none is decoded.
const NOTIFICATION_MAX: usize = 1 << 13;

/// A socket that becomes readable when rules change, in the network namespace of the thread that
/// opened it. What has changed is read, because notifications can be lost.
#[derive(Debug)]
pub struct NftablesMonitor {
    socket: Socket,
}

impl NftablesMonitor {
    /// Changes from now on.
    ///
    /// # Errors
    /// The kernel has no nftables, or no socket left.
    pub fn open() -> Result<Self, NftablesError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_NETFILTER)?;
            socket.set_non_blocking(true)?;
            socket.bind(&SocketAddr::new(0, 0))?;
            socket.add_membership(GROUP)?;
            Ok(socket)
        };
        let socket = open().map_err(NetlinkError::Socket);
        Ok(Self { socket: socket.map_err(|error| NftablesError::of("watch nftables", error))? })
    }

    /// Consumes the notifications that are there, and says whether there was one.
    ///
    /// # Errors
    /// The socket failed. That notifications were lost is no error: something has changed.
    pub fn drain(&self) -> io::Result<bool> {
        let mut is_changed = false;
        loop {
            let mut notification = Vec::with_capacity(NOTIFICATION_MAX);
            match self.socket.recv(&mut notification, 0) {
                Ok(_) => is_changed = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(is_changed),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => is_changed = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for NftablesMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
