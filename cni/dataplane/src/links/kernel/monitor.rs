//! Notifications of the kernel about devices and addresses.

use super::{failed, namespace};
use crate::links::LinkError;
use crate::netlink::NetlinkError;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Devices, and addresses of both families.
const GROUPS: u32 = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;
/// Bytes for one notification. A longer one is truncated, which does no harm: none is decoded.
const NOTIFICATION_MAX: usize = 1 << 13;

/// A socket that becomes readable when a device or an address changes. What has changed is read
/// by [`observe`](crate::links::Links::observe), because notifications can be lost.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Socket,
}

impl LinkMonitor {
    /// Changes in a network namespace from now on; none is that of this process.
    ///
    /// # Errors
    /// The namespace cannot be entered, or the kernel opens no netlink socket.
    pub fn open(network_namespace: Option<&Path>) -> Result<Self, LinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.set_non_blocking(true)?;
            socket.bind(&SocketAddr::new(0, GROUPS))?;
            Ok(socket)
        };
        let open = || open().map_err(NetlinkError::Socket).map_err(failed("watch the devices of the node"));
        Ok(Self { socket: namespace::within(network_namespace, open)? })
    }

    /// Consumes the notifications that are there.
    ///
    /// # Errors
    /// The socket failed. That notifications were lost is no error: something has changed.
    pub fn drain(&self) -> io::Result<()> {
        loop {
            let mut notification = Vec::with_capacity(NOTIFICATION_MAX);
            match self.socket.recv(&mut notification, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for LinkMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
