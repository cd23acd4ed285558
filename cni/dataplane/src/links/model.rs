//! Which VXLAN devices should exist, and which do.

use super::owner::LinkOwner;
use super::pair::{ObservedEnd, PairEnd};
use crate::model::port::DeviceName;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{Encapsulation, IpFamily, Mtu, NodeNetwork};

/// The VXLAN device that a network should have on this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredVxlan {
    pub vni: u32,
    /// The UDP port, of this node and of its peers.
    pub port: u16,
    /// The address of this node that peers send to.
    pub local: IpAddr,
    /// Where broadcasts are sent: the addresses of the other nodes, or the multicast group alone.
    pub peers: Arc<BTreeSet<IpAddr>>,
    /// The multicast group of the segment.
    pub group: Option<IpAddr>,
    /// The MTU of the network.
    pub mtu: Mtu,
}

impl DesiredVxlan {
    /// The device of a network; none if it is not joined with other nodes by one.
    pub fn of(network: &NodeNetwork) -> Option<Self> {
        let overlay = network.overlay.as_ref().filter(|overlay| overlay.encapsulation == Encapsulation::Kernel)?;
        Some(Self {
            vni: overlay.vni.get(),
            port: overlay.port.get(),
            local: overlay.local,
            peers: match overlay.multicast_group {
                Some(group) => Arc::new([group].into()),
                None => Arc::clone(&overlay.peers),
            },
            group: overlay.multicast_group,
            mtu: network.bridge.mtu,
        })
    }

    /// What VXLAN adds to a frame, in bytes.
    pub const fn overhead(&self) -> u32 {
        IpFamily::of(self.local).vxlan_overhead() as u32
    }

    /// The smallest MTU of an underlay that frames of the network fit into.
    pub const fn underlay_mtu(&self) -> u32 {
        self.mtu.get() as u32 + self.overhead()
    }
}

/// The devices of a node that matter for overlays, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedLinks {
    /// Whether this process may change devices.
    pub may_change: bool,
    /// All VXLAN devices by index, whether usnet owns them or not.
    pub vxlans: BTreeMap<u32, ObservedVxlan>,
    /// The ends of all pairs of usnet by index.
    pub ends: BTreeMap<u32, ObservedEnd>,
    /// The devices that have the addresses that were asked for.
    pub underlays: BTreeMap<IpAddr, Underlay>,
}

impl ObservedLinks {
    /// The device of an owner, with its index. One that has its name is preferred to one that was
    /// renamed.
    pub(super) fn device_of(&self, owner: &LinkOwner) -> Option<(u32, &ObservedVxlan)> {
        let name = owner.device();
        let owned = self.vxlans.iter().filter(|(_, device)| device.belongs_to(owner));
        owned.map(|(index, device)| (*index, device)).max_by_key(|(_, device)| device.name == name)
    }

    /// An end of an owner's pair, with its index; none if it has another name.
    pub(super) fn end_of(&self, owner: &LinkOwner, end: PairEnd) -> Option<(u32, &ObservedEnd)> {
        let name = end.device(&owner.network);
        let is_it = |found: &ObservedEnd| (found.end, &found.owner, &found.name) == (end, owner, &name);
        self.ends.iter().find(|(_, found)| is_it(found)).map(|(index, found)| (*index, found))
    }
}

/// A device that has an address of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Underlay {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    /// The length of the prefix of the address.
    pub prefix: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedVxlan {
    pub name: DeviceName,
    pub alias: Option<String>,
    pub mac: [u8; 6],
    /// The network identifier; 0 if it takes it from each packet's metadata.
    pub vni: u32,
    pub port: u16,
    /// The address that it sends from.
    pub local: Option<IpAddr>,
    /// The multicast group that it is in, or the only peer of a device of others.
    pub group: Option<IpAddr>,
    /// The index of the device that it sends through.
    pub underlay: Option<u32>,
    /// Whether the network identifier is part of each packet's metadata (`external`).
    pub is_external: bool,
    /// Whether it receives packets over IPv6 without a UDP checksum. Devices that differ in it
    /// cannot share a port.
    pub accepts_zero_checksum: bool,
    /// Whether the UDP checksum is left to the underlay. Over a veth pair it stays unfinished.
    pub has_udp_checksum: bool,
    pub mtu: u32,
    pub is_up: bool,
    /// Whether the node itself takes part in the network: it answers ARP there.
    pub answers_arp: bool,
    /// Where frames to unknown addresses and broadcasts are sent.
    pub peers: BTreeSet<IpAddr>,
}

impl ObservedVxlan {
    /// The owner that the alias names.
    pub fn owner(&self) -> Option<LinkOwner> {
        self.alias.as_deref()?.parse().ok()
    }

    /// Whether usnet created it for this owner. A creation that was interrupted left no alias.
    pub(super) fn belongs_to(&self, owner: &LinkOwner) -> bool {
        match &self.alias {
            Some(_) => self.owner().as_ref() == Some(owner),
            None => self.local.is_some_and(|local| self.mac == owner.mac(local).octets()),
        }
    }

    /// Whether it has everything that cannot be changed in place.
    pub(super) fn connects(&self, desired: &DesiredVxlan, underlay: Option<&Underlay>) -> bool {
        (self.vni, self.port, self.local) == (desired.vni, desired.port, Some(desired.local))
            && self.group == desired.group
            // The kernel creates this entry with the device, and only then.
            && desired.group.is_none_or(|group| self.peers.contains(&group))
            && underlay.is_none_or(|underlay| self.underlay == Some(underlay.index))
            && !self.is_external
            && !self.has_udp_checksum
    }
}
