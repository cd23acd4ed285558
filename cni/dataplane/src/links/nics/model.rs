//! The NICs of a node.

use super::offloads::{ObservedOffloads, ReceiveOffload};
use crate::model::observed::ObservedPort;
use crate::model::owner::{NicIdentity, Owner, UplinkNic};
use crate::model::port::{DeviceName, PortBackend};
use crate::model::uplink::DesiredNic;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{InterfaceAddress, UplinkName};

/// The devices of a node that can be NICs of uplinks, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedNics {
    /// Whether this process may change devices.
    pub may_change: bool,
    /// NICs by index.
    pub nics: BTreeMap<u32, ObservedNic>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedNic {
    pub name: DeviceName,
    /// The MAC addresses of the NIC: the present one, and the one that it was made with.
    pub macs: Vec<[u8; 6]>,
    pub pci: Option<String>,
    /// Whether it is a device on its own, and no VLAN, bridge, bond or tunnel on others. Such have
    /// the MAC addresses of those.
    pub is_physical: bool,
    /// The index of the bridge or bond that it belongs to.
    pub master: Option<u32>,
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

/// A NIC that the kernel drives, for an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNic {
    pub device: DeviceName,
    /// The index of the NIC. One that is deleted and created again has another one.
    pub index: u32,
    pub mac: [u8; 6],
}

impl From<&KernelNic> for DesiredNic {
    fn from(KernelNic { device, index, mac }: &KernelNic) -> Self {
        Self::kernel(device, *index, *mac)
    }
}

/// The NIC that an engine has for an uplink, as it was when it became a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedNic {
    pub identity: NicIdentity,
    pub backend: PortBackend,
}

impl JoinedNic {
    /// The uplink and its NIC, if this port is one.
    pub fn of(port: &ObservedPort) -> Option<(UplinkName, Self)> {
        match &port.owner.as_ref()?.owner {
            Owner::Nic(UplinkNic { uplink, identity }) => {
                Some((uplink.clone(), Self { identity: identity.clone(), backend: port.backend.clone()? }))
            }
            _ => None,
        }
    }

    /// The name of the NIC.
    pub fn name(&self) -> String {
        self.backend.endpoint_name()
    }

    /// The NIC as the kernel has it when the engine has released it; `None` for one that the kernel
    /// does not drive.
    pub fn released(&self) -> Option<ReleasedNic> {
        Some(ReleasedNic { device: self.backend.device()?.clone(), index: self.identity.kernel_index()? })
    }
}

/// A NIC that an engine has released, and that has to be restored in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedNic {
    /// The name of the NIC when it became a port.
    pub device: DeviceName,
    pub index: u32,
}

/// What prevents an uplink from having its NIC, or the NIC from carrying frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicBlocker {
    /// This process may not change devices.
    MissingPrivilege,
    /// The node has no such NIC.
    Missing { wanted: String },
    /// The node has several.
    Ambiguous { wanted: String, found: Vec<DeviceName> },
    /// The NIC has traffic of the node.
    CarriesNode { nic: DeviceName, what: NodeUse },
    /// The node shares the NIC, and a network would have its untagged frames.
    SharedUntagged { nic: DeviceName },
    /// Another uplink has the NIC.
    Taken { nic: DeviceName, uplink: UplinkName },
    /// The engine had the NIC, and it is gone.
    Lost {
        /// The name that it had.
        nic: String,
        /// The present name of the device, if it was only renamed.
        renamed: Option<DeviceName>,
    },
    /// The NIC is administratively down.
    Down { nic: DeviceName },
    /// The node would take part in the networks on the NIC.
    NotIsolated {
        nic: DeviceName,
        /// Why that cannot be prevented.
        why: String,
    },
    /// The NIC has no carrier.
    NoCarrier { nic: DeviceName },
    /// The NIC merges packets that it receives, and its driver goes on with it.
    MergesPackets { nic: DeviceName, offloads: BTreeSet<ReceiveOffload> },
}

/// Why a device is one that the node itself uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeUse {
    Address(IpAddr),
    /// A default route leads over it.
    DefaultRoute,
    /// The NIC belongs to this bridge or bond.
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
