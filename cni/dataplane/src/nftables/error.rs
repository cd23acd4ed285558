//! Why rules could not be read or changed.

use crate::netlink::NetlinkError;
use nix::errno::Errno;
use std::io;

/// Why rules could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum NftablesError {
    /// `CAP_NET_ADMIN` is missing in the network namespace.
    #[error("the kernel does not permit changes of nftables: CAP_NET_ADMIN is missing")]
    NotPermitted,
    /// The kernel was built without nftables or one of its families, or a module is missing.
    #[error(
        "the kernel of this node has no nftables for devices: load the modules nf_tables and nf_tables_netdev, or use a kernel with CONFIG_NF_TABLES_NETDEV"
    )]
    Unsupported,
    /// What is to be changed or removed does not exist.
    #[error("cannot {0}: no such table, chain, set, element or device")]
    Missing(&'static str),
    #[error("cannot {what}")]
    Netlink {
        /// What was to be done.
        what: &'static str,
        /// The kernel's error.
        source: NetlinkError,
    },
}

impl NftablesError {
    /// What the kernel's error means.
    pub(super) fn of(what: &'static str, error: NetlinkError) -> Self {
        let is_any = |errnos: &[Errno]| errnos.iter().any(|errno| error.is(*errno));
        match &error {
            _ if is_any(&[Errno::EPERM, Errno::EACCES]) => Self::NotPermitted,
            _ if is_any(&[Errno::EOPNOTSUPP, Errno::EAFNOSUPPORT, Errno::EPROTONOSUPPORT]) => Self::Unsupported,
            _ if is_any(&[Errno::ENOENT]) => Self::Missing(what),
            NetlinkError::Socket(source) if is_unknown_protocol(source) => Self::Unsupported,
            _ => Self::Netlink { what, source: error },
        }
    }
}

/// Whether the kernel has no nfnetlink.
fn is_unknown_protocol(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EPROTONOSUPPORT as i32)
}
