//! Devices of the node. VXLAN devices, by which a network is joined with other nodes: one for each
//! network, which its engine takes as one port, by a `pair` of devices. [`filter`], which keeps
//! strangers out of them. [`nics`], which uplinks have, and [`pci`], where they are found that the
//! kernel does not drive. And [`node_access`], by which the node is
//! in a network itself.
//!
//! - `model`: what should exist and what exists. No IO.
//! - `guarded`: which devices have to be isolated from the node. No IO.
//! - `plan`: the operations between both, and what blocks them. No IO.
//! - [`Links`]: the interface to the kernel; [`KernelLinks`] implements it over netlink (IO), and
//!   [`LinkMonitor`] waits for changes (IO).
//!
//! A device has its owner in its alias. Devices without an alias of usnet are never changed.

mod blocker;
pub mod filter;
mod guarded;
mod kernel;
mod model;
pub mod nics;
pub mod node_access;
mod operation;
mod owner;
mod pair;
pub mod pci;
mod plan;
#[cfg(test)]
mod tests;

pub use blocker::{LinkBlocker, blockers};
pub use guarded::{EngineDevices, LentDevices, NodeDevice, NodeDeviceKind};
pub use kernel::{Kept, KernelLinks, LinkMonitor};
pub use model::{DesiredVxlan, ObservedLinks, ObservedVxlan, Underlay};
pub use operation::LinkOp;
pub use owner::LinkOwner;
pub use pair::{ObservedEnd, PairEnd};
pub use plan::{PlannedLinkOp, diff, joinable, plan};

use crate::netlink::NetlinkError;
use crate::nftables::NftablesError;
use pci::PciError;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The network devices of a node.
pub trait Links {
    /// Reads all VXLAN devices, and the devices that have one of these addresses.
    ///
    /// # Errors
    /// Something could not be read. It never looks like a node without devices.
    fn observe(&mut self, addresses: &BTreeSet<IpAddr>) -> Result<ObservedLinks, LinkError>;

    /// Applies one operation. It can be repeated.
    ///
    /// # Errors
    /// The kernel's error. Part of the operation may have been done.
    fn apply(&mut self, operation: &LinkOp) -> Result<(), LinkError>;
}

/// Why devices cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// `CAP_NET_ADMIN` is missing in the network namespace.
    #[error("the kernel does not permit it: CAP_NET_ADMIN is missing")]
    NotPermitted,
    /// A device has the VNI and port, or the name.
    #[error("a device with this VNI and UDP port, or of this name, already exists")]
    Exists,
    /// The UDP port belongs to another program or to a device with another kind of VXLAN.
    #[error("the UDP port is already in use")]
    PortInUse,
    /// The kernel was built without VXLAN, or its module is missing.
    #[error("the kernel of this node has no VXLAN: load the module vxlan")]
    Unsupported,
    /// The kernel has no rules for devices, or does not make them.
    #[error("the node cannot be kept out of the network")]
    Isolation(#[source] NftablesError),
    #[error(transparent)]
    Pci(PciError),
    #[error("cannot {what}")]
    Netlink {
        /// What was to be done.
        what: String,
        /// The kernel's error.
        source: NetlinkError,
    },
}
