//! The NICs of a node.

use super::offloads::{ObservedOffloads, ReceiveOffload};
use crate::model::port::DeviceName;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{InterfaceAddress, UplinkName};

/// The devices of a node that can be NICs of uplinks, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedNics {
    /// Whether this process may change devices.
    pub may_change: bool,
    /// By index.
    pub nics: BTreeMap<u32, ObservedNic>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedNic {
    /// Its name.
    pub name: DeviceName,
    /// Its MAC addresses: the present one, and the one that it was made with.
    pub macs: Vec<[u8; 6]>,
    /// Its PCI address.
    pub pci: Option<String>,
    /// Whether it is a device on its own, and no VLAN, bridge, bond or tunnel on others. Such have
    /// the MAC addresses of those.
    pub is_physical: bool,
    /// The index of the bridge or bond that it belongs to.
    pub master: Option<u32>,
    /// Its MTU.
    pub mtu: u32,
    /// Whether it is administratively up.
    pub is_up: bool,
    /// Whether it takes frames to any address, because that was set.
    pub is_promiscuous: bool,
    /// Whether there is a cable, and something at its other end.
    pub has_carrier: bool,
    /// Addresses of the node. Link-local ones do not count: every device that is up has one.
    pub addresses: BTreeSet<InterfaceAddress>,
    /// Whether a default route of the node leads over it.
    pub has_default_route: bool,
    /// What merges packets that it receives; only read of those that uplinks describe.
    pub offloads: ObservedOffloads,
}

/// The NIC that an engine has for an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedNic {
    /// Its name when it became a port.
    pub device: DeviceName,
    /// Its index then.
    pub index: u32,
}

/// What prevents an uplink from having its NIC, or the NIC from carrying frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicBlocker {
    /// This process may not change devices.
    MissingPrivilege,
    /// What the uplink asks for is not supported.
    Unsupported {
        /// It.
        what: &'static str,
    },
    /// The node has no such NIC.
    Missing {
        /// How it is described.
        wanted: String,
    },
    /// The node has several.
    Ambiguous {
        /// How it is described.
        wanted: String,
        /// Those.
        found: Vec<DeviceName>,
    },
    /// The NIC has traffic of the node.
    CarriesNode {
        /// The NIC.
        nic: DeviceName,
        /// What it has.
        what: NodeUse,
    },
    /// The node shares the NIC, and a network would have its untagged frames.
    SharedUntagged {
        /// The NIC.
        nic: DeviceName,
    },
    /// Another uplink has the NIC.
    Taken {
        /// The NIC.
        nic: DeviceName,
        /// That uplink.
        uplink: UplinkName,
    },
    /// The engine had the NIC, and it is gone.
    Lost {
        /// The name that it had.
        nic: DeviceName,
        /// The present name of the device, if it was only renamed.
        renamed: Option<DeviceName>,
    },
    /// The NIC is administratively down.
    Down {
        /// The NIC.
        nic: DeviceName,
    },
    /// The node would take part in the networks on the NIC.
    NotIsolated {
        /// The NIC.
        nic: DeviceName,
        /// Why that cannot be prevented.
        why: String,
    },
    /// The NIC has no carrier.
    NoCarrier {
        /// The NIC.
        nic: DeviceName,
    },
    /// The NIC merges packets that it receives, and its driver goes on with it.
    MergesPackets {
        /// The NIC.
        nic: DeviceName,
        /// By these.
        offloads: BTreeSet<ReceiveOffload>,
    },
}

/// Why a device is one that the node itself uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeUse {
    /// It has this address.
    Address(IpAddr),
    /// A default route leads over it.
    DefaultRoute,
    /// It belongs to this bridge or bond.
    Master(String),
}

impl fmt::Display for NodeUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(formatter, "has address {address}"),
            Self::DefaultRoute => formatter.write_str("has a default route"),
            Self::Master(master) => write!(formatter, "belongs to {master}"),
        }
    }
}

impl ObservedNic {
    /// Its present MAC address.
    pub(super) fn mac(&self) -> [u8; 6] {
        self.macs.first().copied().unwrap_or_default()
    }
}

impl ObservedNics {
    /// The device of this name, with its index.
    pub fn named(&self, name: &str) -> Option<(u32, &ObservedNic)> {
        let mut named = self.nics.iter().filter(|(_, nic)| nic.name.as_str() == name);
        named.next().map(|(index, nic)| (*index, nic))
    }

    /// What the node uses a device for.
    pub(super) fn node_use(&self, nic: &ObservedNic) -> Option<NodeUse> {
        let master = |index: u32| {
            let name = self.nics.get(&index).map(|master| master.name.to_string());
            NodeUse::Master(name.unwrap_or_else(|| format!("device {index}")))
        };
        let route = nic.has_default_route.then_some(NodeUse::DefaultRoute);
        nic.addresses.first().map(|address| NodeUse::Address(address.ip())).or(route).or_else(|| nic.master.map(master))
    }
}
