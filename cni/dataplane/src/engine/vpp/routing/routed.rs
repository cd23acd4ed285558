//! Ports in IP mode: each uses the addresses of its network's gateway, is bound to the same tables,
//! and has a route for each address of its pod. Pure.
//!
//! VPP does not tell such a port when the gateway changes or goes, and uses memory that it has
//! given back: a port is taken off its gateway before, and put back afterwards.

use super::command::RoutingCommand;
use super::snapshot::{FAMILIES, RoutedInterface, RoutingSnapshot};
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::NetworkName;

/// The table of interfaces that are bound to no other.
const DEFAULT_TABLES: [u32; 2] = [0, 0];

/// How a port comes to the gateway of its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct RoutedPort {
    gateway: u32,
    tables: [u32; 2],
    addresses: BTreeSet<IpAddr>,
    /// The interface as it is.
    before: RoutedInterface,
}

impl RoutedPort {
    /// `None` if the gateway of the network is not that of the bridge domain.
    pub(in crate::engine::vpp) fn new(
        snapshot: &RoutingSnapshot,
        (network, domain): (&NetworkName, u32),
        existing: Option<u32>,
        addresses: &BTreeSet<IpAddr>,
    ) -> Option<Self> {
        let mut own = snapshot.of_network(network);
        let (gateway, loopback) = own.find(|(index, loopback)| snapshot.bvi_of(*index, loopback) == Some(domain))?;
        let before = existing.and_then(|index| snapshot.routed.get(&index)).cloned().unwrap_or_default();
        Some(Self { gateway, tables: loopback.tables, addresses: addresses.clone(), before })
    }

    /// The binding cannot change while the interface uses addresses.
    pub(in crate::engine::vpp) fn commands(&self, index: u32) -> impl Iterator<Item = RoutingCommand> {
        let Self { gateway, tables, addresses, before } = self;
        let leave = before.address_of.map(|_| RoutingCommand::UseNoAddress { index });
        let join = RoutingCommand::UseAddressOf { index, gateway: *gateway };
        leave.into_iter().chain(bind(index, before.tables, *tables)).chain([join]).chain(routes(
            index,
            &before.routes,
            &in_tables(*tables, addresses),
        ))
    }

    /// Before the interface is deleted: a route stays without it.
    pub(in crate::engine::vpp) fn undo(&self, index: u32) -> impl Iterator<Item = RoutingCommand> {
        let (tables, addresses) = (self.tables, &self.addresses);
        remove_routes(index, in_tables(tables, addresses))
    }
}

impl RoutingSnapshot {
    /// The bridge domain whose gateway routes to an interface, and the addresses, by interface.
    pub(in crate::engine::vpp) fn routed_by_gateways(&self) -> Vec<(u32, (u32, BTreeSet<IpAddr>))> {
        let place = |(index, routed): (&u32, &RoutedInterface)| {
            let gateway = routed.address_of?;
            let loopback = self.loopbacks.get(&gateway).filter(|loopback| loopback.network.is_some())?;
            let domain = self.bvi_of(gateway, loopback).filter(|_| loopback.tables == routed.tables)?;
            let addresses: BTreeSet<IpAddr> = routed.routes.iter().map(|(_, address)| *address).collect();
            // One that is routed in another table is not routed.
            let is_right = routed.routes == in_tables(routed.tables, &addresses);
            Some((*index, (domain, if is_right { addresses } else { BTreeSet::new() })))
        };
        self.routed.iter().filter_map(place).collect()
    }

    /// What differs of the routes to an interface that is in its place.
    pub(in crate::engine::vpp) fn route_changes(
        &self,
        index: u32,
        addresses: &BTreeSet<IpAddr>,
    ) -> Vec<RoutingCommand> {
        let Some(routed) = self.routed.get(&index) else { return Vec::new() };
        routes(index, &routed.routes, &in_tables(routed.tables, addresses)).collect()
    }

    /// Removes the routes to an interface that is about to be deleted.
    pub(in crate::engine::vpp) fn remove_routes(&self, index: u32) -> impl Iterator<Item = RoutingCommand> {
        let routes = self.routed.get(&index).map(|routed| routed.routes.clone()).unwrap_or_default();
        remove_routes(index, routes)
    }

    /// Takes all ports off a gateway that is about to be deleted.
    pub(super) fn release(&self, gateway: u32) -> Vec<RoutingCommand> {
        let off = |(index, routed): (u32, &RoutedInterface)| {
            let leave = [RoutingCommand::UseNoAddress { index }].into_iter();
            leave.chain(remove_routes(index, routed.routes.clone())).chain(bind(index, routed.tables, DEFAULT_TABLES))
        };
        self.users(gateway).flat_map(off).collect()
    }

    /// Takes all ports off a gateway while it gets these changes, after which it is in these
    /// tables.
    pub(super) fn around(&self, gateway: u32, changes: Vec<RoutingCommand>, tables: [u32; 2]) -> Vec<RoutingCommand> {
        if changes.is_empty() {
            return changes;
        }
        let off = self.users(gateway).map(|(index, _)| RoutingCommand::UseNoAddress { index });
        let on = self.users(gateway).flat_map(|(index, routed)| {
            let addresses = routed.routes.iter().map(|(_, address)| *address).collect();
            let join = [RoutingCommand::UseAddressOf { index, gateway }];
            let routes = routes(index, &routed.routes, &in_tables(tables, &addresses));
            bind(index, routed.tables, tables).chain(join).chain(routes).collect::<Vec<_>>()
        });
        off.chain(changes).chain(on).collect()
    }

    fn users(&self, gateway: u32) -> impl Iterator<Item = (u32, &RoutedInterface)> {
        let all = self.routed.iter().map(|(index, routed)| (*index, routed));
        all.filter(move |(_, routed)| routed.address_of == Some(gateway))
    }
}

/// Addresses with the tables that they are to be routed in.
fn in_tables([four, six]: [u32; 2], addresses: &BTreeSet<IpAddr>) -> BTreeSet<(u32, IpAddr)> {
    addresses.iter().map(|address| (if address.is_ipv6() { six } else { four }, *address)).collect()
}

fn bind(index: u32, before: [u32; 2], tables: [u32; 2]) -> impl Iterator<Item = RoutingCommand> {
    let bindings = FAMILIES.into_iter().zip(tables).zip(before).filter(|((_, id), bound)| id != bound);
    bindings.map(move |((is_ip6, id), _)| RoutingCommand::SetTable { index, is_ip6, id })
}

fn routes(
    index: u32,
    before: &BTreeSet<(u32, IpAddr)>,
    wanted: &BTreeSet<(u32, IpAddr)>,
) -> impl Iterator<Item = RoutingCommand> + use<> {
    let removed = remove_routes(index, before - wanted);
    let add = move |(table, address)| RoutingCommand::AddRoute { index, table, address };
    removed.chain((wanted - before).into_iter().map(add))
}

fn remove_routes(index: u32, routes: BTreeSet<(u32, IpAddr)>) -> impl Iterator<Item = RoutingCommand> {
    routes.into_iter().map(move |(table, address)| RoutingCommand::RemoveRoute { index, table, address })
}
