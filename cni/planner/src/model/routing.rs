//! The gateways of networks, and the routing tables by which networks reach each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{BridgeName, Gateway, InterfaceAddress, MacAddress, Mtu, NetworkName, NodeNetwork, RoutingDomain};

/// An address with the length of its prefix. That of an interface in an engine may be one that
/// usnet would refuse.
pub type PrefixedAddress = (IpAddr, u8);

/// A routing table of each family: which networks share it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutingTable {
    Network(NetworkName),
    /// All networks of this domain.
    Domain(RoutingDomain),
}

impl RoutingTable {
    /// The table of a network with this gateway.
    pub fn of(network: &NetworkName, gateway: &Gateway) -> Self {
        gateway.routing_domain.clone().map_or_else(|| Self::Network(network.clone()), Self::Domain)
    }
}

impl fmt::Display for RoutingTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => write!(formatter, "the routing table of network {network}"),
            Self::Domain(domain) => write!(formatter, "the routing table of domain {domain}"),
        }
    }
}

/// The gateway of a network as it should be: an interface of the engine itself on the network's
/// bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkGateway {
    pub network: NetworkName,
    pub bridge: BridgeName,
    /// The MAC address, which is the same on all nodes.
    pub mac: MacAddress,
    /// The MTU of the network: the engine fragments or refuses what is longer.
    pub mtu: Mtu,
    pub addresses: BTreeSet<PrefixedAddress>,
    /// The tables by which it routes.
    pub table: RoutingTable,
    /// Whether it is down for a while, because its network has too many neighbours.
    pub is_held: bool,
}

impl NetworkGateway {
    /// The gateway that a network should have, if any.
    pub fn new(network: &NodeNetwork) -> Option<Self> {
        let gateway = network.gateway.as_ref().filter(|_| network.engine.traits().has_gateways)?;
        let prefixed = |address: &InterfaceAddress| (address.ip(), address.prefix());
        Some(Self {
            network: network.name.clone(),
            bridge: network.bridge.name.clone(),
            mac: Gateway::mac(&network.name),
            mtu: network.bridge.mtu,
            addresses: gateway.addresses.iter().map(prefixed).collect(),
            table: RoutingTable::of(&network.name, gateway),
            is_held: false,
        })
    }
}

/// What an engine has of gateways and routing tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedRouting {
    /// The gateways that usnet owns, by network.
    pub gateways: BTreeMap<NetworkName, ObservedGateway>,
    /// The tables that usnet owns, and whether both families have it.
    pub tables: BTreeMap<RoutingTable, bool>,
    /// Bridges with a gateway that usnet does not own, and its interface.
    pub foreign_gateways: BTreeMap<String, String>,
}

/// The gateway of a network as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedGateway {
    /// The bridge whose gateway it is; `None` if it is that of none.
    pub bridge: Option<String>,
    pub mac: [u8; 6],
    /// The MTU, in bytes.
    pub mtu: u32,
    pub addresses: BTreeSet<PrefixedAddress>,
    /// The tables that it is bound to; `None` if they are not those of one owner.
    pub table: Option<RoutingTable>,
    pub is_enabled: bool,
    /// Whether there is another one of the same network.
    pub is_twice: bool,
    /// Whether the engine has the limit of neighbours that gateways of usnet need.
    pub limits_neighbours: bool,
    /// How many neighbours of one family it has, if these are too many.
    pub excess: Option<usize>,
}

/// How many neighbours of a family an engine has at most, in all networks together. VPP takes 1.2
/// KB of its heap for one of IPv4, and 1.4 KB for one of IPv6: 43 MB if both families are full. It
/// forgets 24,576 in 0.6 s, in which its main thread does nothing else.
pub const NEIGHBOUR_LIMIT: usize = 16_384;
/// How many neighbours of a family the gateway of one network may have.
pub const NEIGHBOUR_SHARE: usize = 8192;
/// How many neighbours of a family there may be before the network with most of them has too many.
/// The others need the rest for new pods.
pub const NEIGHBOUR_RESERVE: usize = NEIGHBOUR_LIMIT / 4 * 3;

impl ObservedGateway {
    /// Whether it is as it should be.
    pub(crate) fn matches(&self, gateway: &NetworkGateway) -> bool {
        let bridge = (!gateway.is_held).then_some(gateway.bridge.as_str());
        self.bridge.as_deref() == bridge
            && self.mac == gateway.mac.octets()
            && self.mtu == u32::from(gateway.mtu.get())
            && self.addresses == gateway.addresses
            && self.table.as_ref() == Some(&gateway.table)
            && self.is_enabled != gateway.is_held
            && !self.is_twice
            && self.limits_neighbours
    }
}
