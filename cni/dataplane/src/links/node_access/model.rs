//! Which networks the node should be in, and which it is in.

use crate::links::owner::LinkOwner;
use crate::links::pair::{ObservedEnd, PairEnd};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{EngineKind, InterfaceAddress, MacAddress, Mtu, NetworkName, NodeNetwork};

/// The node in one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredNodeAccess {
    /// The engine of the network.
    pub engine: EngineKind,
    /// The addresses of the node, at most one of each family.
    pub addresses: BTreeSet<InterfaceAddress>,
    /// The MTU of the network.
    pub mtu: Mtu,
}

/// The networks of all engines that the node should be in: their subnets must not overlap.
pub type NodeAccesses = BTreeMap<NetworkName, DesiredNodeAccess>;

impl DesiredNodeAccess {
    /// The node in a network; none if it has no address there.
    pub fn of(network: &NodeNetwork) -> Option<Self> {
        let addresses = network.node_access.as_ref()?.addresses.iter().copied().collect();
        Some(Self { engine: network.engine, addresses, mtu: network.bridge.mtu })
    }

    /// The MAC address of the node's device, which is the same when it is created again: pods keep
    /// the former one for up to a minute, and their answers would be lost. Other nodes have another
    /// one.
    pub(crate) fn mac(&self, network: &NetworkName) -> MacAddress {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        MacAddress::of(&format!("{network} {}", addresses.join(" ")))
    }

    /// The first subnet that overlaps one of these.
    pub(super) fn overlap(&self, others: &[IpNet]) -> Option<IpNet> {
        self.subnets().find(|own| others.iter().any(|other| own.contains(other) || other.contains(own)))
    }

    pub(crate) fn subnets(&self) -> impl Iterator<Item = IpNet> + '_ {
        self.addresses.iter().map(|address| address.subnet())
    }
}

/// What the node has, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedNodeAccess {
    /// Whether this process may change devices.
    pub may_change: bool,
    /// The ends of such pairs by index.
    pub ends: BTreeMap<u32, ObservedEnd>,
    /// The addresses of these ends by index.
    pub addresses: BTreeMap<u32, BTreeSet<InterfaceAddress>>,
    /// The routes of the node over other devices that overlap a subnet of a network.
    pub routes: BTreeSet<Route>,
}

/// A route of the node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    pub destination: IpNet,
    /// The name of its device.
    pub device: String,
}

impl ObservedNodeAccess {
    /// An end of an owner's pair that has its name, with its index.
    pub(super) fn end_of(&self, owner: &LinkOwner, end: PairEnd) -> Option<(u32, &ObservedEnd)> {
        let name = end.device(&owner.network);
        let is_it = |found: &ObservedEnd| (found.end, &found.owner, &found.name) == (end, owner, &name);
        self.ends.iter().find(|(_, found)| is_it(found)).map(|(index, found)| (*index, found))
    }

    /// The index of the end that the engine has, if the pair is as it should be.
    pub(super) fn complete(&self, owner: &LinkOwner, desired: &DesiredNodeAccess) -> Option<u32> {
        let mtu = desired.mtu.get().into();
        let end = |end| self.end_of(owner, end).filter(|(_, found)| found.passes(mtu));
        let (node, found) = end(PairEnd::Node)?;
        let has_addresses = self.addresses.get(&node) == Some(&desired.addresses);
        let (access, _) = end(PairEnd::Access).filter(|_| has_addresses && found.is_strict)?;
        Some(access)
    }
}
