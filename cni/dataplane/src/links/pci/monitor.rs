//! Notifications of the kernel about devices of the PCI bus (`lib/kobject_uevent.c`): one that
//! comes or goes, and one whose driver changes. Netlink of routes has only those that the kernel
//! drives.

use crate::netlink::NetlinkError;
use netlink_sys::protocols::NETLINK_KOBJECT_UEVENT;
use netlink_sys::{Socket, SocketAddr};
use nix::libc;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The group of the kernel's own notifications.
const GROUP: u32 = 1;
/// Bytes for one notification: `UEVENT_BUFFER_SIZE` and its header.
const NOTIFICATION_MAX: usize = 1 << 12;
/// What is in a notification about a device of the PCI bus.
const OF_PCI: &[u8] = b"SUBSYSTEM=pci";

/// A socket that becomes readable when a device of any kind changes.
#[derive(Debug)]
pub struct PciMonitor {
    socket: Socket,
}

impl PciMonitor {
    /// Changes from now on. The kernel notifies every network namespace of those of buses.
    ///
    /// # Errors
    /// The kernel opens no such socket.
    pub fn open() -> Result<Self, NetlinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_KOBJECT_UEVENT)?;
            socket.set_non_blocking(true)?;
            socket.bind(&SocketAddr::new(0, GROUP))?;
            Ok(socket)
        };
        Ok(Self { socket: open().map_err(NetlinkError::Socket)? })
    }

    /// Consumes the notifications that are there, and says whether one was about the PCI bus.
    ///
    /// # Errors
    /// The socket failed. That notifications were lost is no error: something has changed.
    pub fn drain(&self) -> io::Result<bool> {
        let mut is_changed = false;
        loop {
            let mut notification = Vec::with_capacity(NOTIFICATION_MAX);
            match self.socket.recv(&mut notification, 0) {
                Ok(_) => is_changed |= is_of_pci(&notification),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(is_changed),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => is_changed = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether a notification is about a device of the PCI bus. It is a list of texts with a zero
/// behind each.
fn is_of_pci(notification: &[u8]) -> bool {
    notification.split(|byte| *byte == 0).any(|text| text == OF_PCI)
}

impl AsFd for PciMonitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_of_other_buses_are_told_apart() {
        let text = |subsystem: &str| {
            format!("bind@/devices/pci0000:00/0000:02:00.0\0ACTION=bind\0SUBSYSTEM={subsystem}\0SEQNUM=1\0")
        };
        assert!(is_of_pci(text("pci").as_bytes()));
        assert!(!is_of_pci(text("pci_express").as_bytes()) && !is_of_pci(text("net").as_bytes()));
        assert!(!is_of_pci(b""));
    }
}
