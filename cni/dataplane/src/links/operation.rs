//! The operations on VXLAN devices and their pairs.

use super::model::DesiredVxlan;
use super::owner::LinkOwner;
use crate::model::port::DeviceName;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{Mtu, NetworkName};

/// One operation. Devices are found by their index, which belongs to one device only as long as it
/// exists: names can be changed by others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOp {
    /// Creates a device with its ownership tag and peers, sets it up, and connects it.
    Create {
        owner: LinkOwner,
        /// The index of the device that it sends through.
        underlay: u32,
        device: DesiredVxlan,
    },
    /// Gives a device its name back.
    Rename {
        owner: LinkOwner,
        index: u32,
        from: DeviceName,
    },
    /// Sets what can be changed in place, and sets the device up.
    Configure {
        owner: LinkOwner,
        index: u32,
        /// The MTU; `None` leaves it as it is.
        mtu: Option<Mtu>,
    },
    ChangePeers {
        owner: LinkOwner,
        index: u32,
        add: BTreeSet<IpAddr>,
        remove: BTreeSet<IpAddr>,
    },
    /// Creates what is missing of the pair by which the engine has the device, and configures it.
    Connect {
        owner: LinkOwner,
        /// The index of the VXLAN device.
        index: u32,
        mtu: Mtu,
    },
    /// Deletes a device, or a pair by one of its ends.
    Delete {
        owner: LinkOwner,
        index: u32,
        device: DeviceName,
    },
}

impl LinkOp {
    /// What the device belongs to.
    pub const fn owner(&self) -> &LinkOwner {
        match self {
            Self::Create { owner, .. }
            | Self::Rename { owner, .. }
            | Self::Configure { owner, .. }
            | Self::ChangePeers { owner, .. }
            | Self::Connect { owner, .. }
            | Self::Delete { owner, .. } => owner,
        }
    }

    /// The network of the device.
    pub const fn network(&self) -> &NetworkName {
        &self.owner().network
    }

    /// Whether it may set a device up.
    pub const fn opens(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Configure { .. } | Self::Connect { .. })
    }

    /// Whether it deletes a device, which must not be a port any more then.
    pub const fn is_deletion(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}

impl fmt::Display for LinkOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, network) = (self.owner().device(), self.network());
        match self {
            Self::Create { device: DesiredVxlan { vni, port, peers, group, .. }, .. } => {
                write!(
                    formatter,
                    "create VXLAN device {device} of network {network} with VNI {vni}, UDP port {port} and "
                )?;
                match group {
                    Some(group) => write!(formatter, "multicast group {group}"),
                    None => write!(formatter, "{} peers", peers.len()),
                }
            }
            Self::Rename { from, .. } => {
                write!(formatter, "rename VXLAN device {from} of network {network} back to {device}")
            }
            Self::Configure { mtu: Some(mtu), .. } => {
                write!(formatter, "set up VXLAN device {device} of network {network} with MTU {mtu}")
            }
            Self::Configure { mtu: None, .. } => write!(formatter, "set up VXLAN device {device} of network {network}"),
            Self::ChangePeers { add, remove, .. } => write!(
                formatter,
                "add {} and remove {} peers of VXLAN device {device} of network {network}",
                add.len(),
                remove.len()
            ),
            Self::Connect { mtu, .. } => {
                write!(formatter, "connect VXLAN device {device} of network {network} by a pair with MTU {mtu}")
            }
            Self::Delete { device, .. } => write!(formatter, "delete device {device} of network {network}"),
        }
    }
}
