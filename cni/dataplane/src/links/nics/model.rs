//! The NICs of a node.

use super::offloads::{ObservedOffloads, ReceiveOffload};
use crate::links::pci::{ObservedPci, PciBlocker};
use crate::model::observed::{DpdkSupport, ObservedPort};
use crate::model::owner::{NicIdentity, Owner, UplinkNic};
use crate::model::port::{DeviceName, PortBackend};
use crate::model::uplink::DesiredNic;
use crate::store::bound_nics::BoundNic;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{InterfaceAddress, Mtu, PciAddress, Queues, UplinkName, XdpMode};

/// The NICs of a node, and what its engine can do with them.
#[derive(Debug, Clone, Copy)]
pub struct NodeNics<'a> {
    pub kernel: &'a ObservedNics,
    /// Only read if an uplink has a NIC that its engine drives itself.
    pub pci: &'a ObservedPci,
    pub dpdk: &'a DpdkSupport,
    /// The NICs that the agent has taken from their drivers in Linux.
    pub bound: &'a [BoundNic],
}

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
    /// The index of the device that a VLAN or the like is on.
    pub lower: Option<u32>,
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
    /// What it does with frames that it receives; only read of those that uplinks describe.
    pub offloads: ObservedOffloads,
    /// The queues on which it receives; only read of those that uplinks describe.
    pub queues: u32,
    /// Whether an XDP program has the frames that it receives.
    pub has_program: bool,
    /// The NUMA node that it is nearest to.
    pub numa_node: Option<u32>,
}

/// A NIC that the kernel drives, for an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelNic {
    pub device: DeviceName,
    /// The index of the NIC. One that is deleted and created again has another one.
    pub index: u32,
    pub mac: [u8; 6],
}

/// The NIC of an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolvedNic {
    Kernel(KernelNic),
    /// One whose frames the engine has by AF_XDP.
    AfXdp {
        nic: KernelNic,
        mode: XdpMode,
        queues: Queues,
    },
    /// One that the engine drives itself.
    Dpdk {
        address: PciAddress,
        mtu: Option<Mtu>,
        queues: Option<Queues>,
    },
}

impl ResolvedNic {
    /// The NIC, if the kernel drives it.
    pub const fn kernel(&self) -> Option<&KernelNic> {
        match self {
            Self::Kernel(nic) | Self::AfXdp { nic, .. } => Some(nic),
            Self::Dpdk { .. } => None,
        }
    }

    /// The NIC as a port of the engine.
    pub(super) fn desired(&self, uplink: &UplinkName) -> DesiredNic {
        match self {
            Self::Kernel(KernelNic { device, index, mac }) => DesiredNic::kernel(device, *index, *mac),
            Self::AfXdp { nic: KernelNic { device, index, mac }, mode, queues } => {
                DesiredNic::af_xdp(device, *index, *mac, *mode, *queues)
            }
            Self::Dpdk { address, mtu, queues } => DesiredNic::dpdk(uplink, *address, *mtu, *queues),
        }
    }
}

impl fmt::Display for ResolvedNic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(nic) | Self::AfXdp { nic, .. } => nic.device.fmt(formatter),
            Self::Dpdk { address, .. } => address.fmt(formatter),
        }
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

    /// The NIC, or those of the bond.
    pub fn nics(&self) -> Vec<Self> {
        let PortBackend::Bond { bond } = &self.backend else { return vec![self.clone()] };
        let identified = bond.members().iter().zip(self.identity.nics());
        identified
            .map(|(member, identity)| Self { identity: identity.clone(), backend: member.backend.clone() })
            .collect()
    }

    /// The NIC as the kernel has it when the engine has released it; `None` for one that the kernel
    /// does not drive.
    pub fn released(&self) -> Option<ReleasedNic> {
        let had_program = matches!(self.backend, PortBackend::AfXdp { .. });
        Some(ReleasedNic { device: self.backend.device()?.clone(), index: self.identity.kernel_index()?, had_program })
    }
}

/// A NIC that an engine has released, and that has to be restored in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedNic {
    /// The name of the NIC when it became a port.
    pub device: DeviceName,
    pub index: u32,
    /// Whether the engine had an XDP program on it.
    pub had_program: bool,
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
    Taken { nic: String, uplink: UplinkName },
    /// The NIC is not on the PCI bus, so that only the kernel can drive it.
    NotPci { nic: DeviceName },
    /// The engine cannot drive NICs.
    NoDpdk { why: String },
    /// The engine takes devices that no uplink names.
    TakesAll { nic: PciAddress, others: Vec<PciAddress> },
    /// The NIC is not one that a program can have.
    Pci { nic: PciAddress, blocker: PciBlocker },
    /// The NIC could not be taken from its driver.
    NotTaken { nic: PciAddress, why: String },
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
    /// The NIC takes off VLAN tags, and its driver goes on with it.
    StripsTags { nic: DeviceName },
    /// Another program has an XDP program on the NIC.
    HasProgram { nic: DeviceName },
}

impl NicBlocker {
    /// Whether it only matters before an engine has the NIC.
    pub(super) const fn is_of_start(&self) -> bool {
        matches!(self, Self::TakesAll { .. })
    }
}

/// Why a device is one that the node itself uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeUse {
    Address(IpAddr),
    /// A default route leads over it.
    DefaultRoute,
    /// The NIC belongs to this bridge or bond.
    Master(String),
    /// A device of the node is on it, such as one for a VLAN.
    Upper(DeviceName),
}

impl fmt::Display for NodeUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(formatter, "has address {address}"),
            Self::DefaultRoute => formatter.write_str("has a default route"),
            Self::Master(master) => write!(formatter, "belongs to {master}"),
            Self::Upper(device) => write!(formatter, "has device {device} on it"),
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
    pub(super) fn node_use(&self, index: u32, nic: &ObservedNic) -> Option<NodeUse> {
        let master = |index: u32| {
            let name = self.nics.get(&index).map(|master| master.name.to_string());
            NodeUse::Master(name.unwrap_or_else(|| format!("device {index}")))
        };
        let route = nic.has_default_route.then_some(NodeUse::DefaultRoute);
        let is_on_it = |upper: &&ObservedNic| upper.lower == Some(index) && !upper.is_physical && upper.is_up;
        let upper = || self.nics.values().find(is_on_it).map(|upper| NodeUse::Upper(upper.name.clone()));
        let address = nic.addresses.first().map(|address| NodeUse::Address(address.ip()));
        address.or(route).or_else(|| nic.master.map(master)).or_else(upper)
    }
}
