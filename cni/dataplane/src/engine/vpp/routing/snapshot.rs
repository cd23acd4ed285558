//! What is known of gateways and routing tables. Indexes and ids are used here and nowhere else.

use crate::model::routing::{PrefixedAddress, RoutingTable};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::NetworkName;

/// A family of addresses, as VPP asks for it.
pub(super) const FAMILIES: [bool; 2] = [false, true];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Loopback {
    /// The network whose gateway it is; `None` for one without a tag, whose creation may have been
    /// interrupted.
    pub(super) network: Option<NetworkName>,
    /// The bridge domain that it is in.
    pub(super) domain: Option<u32>,
    pub(super) mac: [u8; 6],
    pub(super) mtu: u32,
    pub(super) is_enabled: bool,
    /// How many neighbours it has, of IPv4 and of IPv6.
    pub(super) neighbours: [usize; 2],
    pub(super) addresses: BTreeSet<PrefixedAddress>,
    /// The ids of its tables, of IPv4 and of IPv6.
    pub(super) tables: [u32; 2],
}

/// An interface that carries IP packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::engine::vpp) struct RoutedInterface {
    /// The interface whose addresses it uses.
    pub(super) address_of: Option<u32>,
    /// The ids of its tables, of IPv4 and of IPv6.
    pub(super) tables: [u32; 2],
    /// The addresses that are routed to it, with the ids of the tables, as far as usnet owns these.
    pub(super) routes: BTreeSet<(u32, IpAddr)>,
}

/// Gateways and routing tables, whether usnet owns them or not.
#[derive(Debug, Clone, Default)]
pub(in crate::engine::vpp) struct RoutingSnapshot {
    /// The ids that are in use, by whether they are of IPv6.
    pub(super) ids: BTreeSet<(bool, u32)>,
    /// The ids of the tables that usnet owns. There should be one for each family.
    pub(super) tables: BTreeMap<RoutingTable, BTreeSet<(bool, u32)>>,
    /// The gateways that usnet owns, and loopbacks without a tag in no bridge domain, by index.
    pub(super) loopbacks: BTreeMap<u32, Loopback>,
    /// The interfaces that carry IP packets, by index.
    pub(super) routed: BTreeMap<u32, RoutedInterface>,
    /// The names of interfaces by the tables that they are bound to, if that was read: only to
    /// delete tables.
    pub(super) bound: BTreeMap<(bool, u32), String>,
    /// Which family has another limit of neighbours than gateways of usnet need.
    pub(super) is_unlimited: [bool; 2],
    /// How many neighbours all interfaces have, of IPv4 and of IPv6.
    pub(super) neighbours: [usize; 2],
    /// The BVI of each bridge domain that has one, with VPP's name of it.
    pub(super) bvis: BTreeMap<u32, (u32, String)>,
}

impl RoutingSnapshot {
    /// The ids of a table in both families; `None` if it is missing in one. Of several the lowest
    /// counts.
    pub(super) fn ids_of(&self, table: &RoutingTable) -> Option<[u32; 2]> {
        let of = |is_ip6: bool| {
            let ids = self.tables.get(table)?;
            ids.iter().find(|(family, _)| *family == is_ip6).map(|(_, id)| *id)
        };
        Some([of(false)?, of(true)?])
    }

    /// The bridge domain whose BVI it is.
    pub(super) fn bvi_of(&self, index: u32, loopback: &Loopback) -> Option<u32> {
        loopback.domain.filter(|id| self.bvis.get(id).is_some_and(|(bvi, _)| *bvi == index))
    }

    /// The gateways of a network.
    pub(super) fn of_network(&self, network: &NetworkName) -> impl Iterator<Item = (u32, &Loopback)> {
        let all = self.loopbacks.iter().map(|(index, loopback)| (*index, loopback));
        all.filter(move |(_, loopback)| loopback.network.as_ref() == Some(network))
    }
}
