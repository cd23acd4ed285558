//! From the snapshot to the observed gateways and routing tables. Pure.

use super::snapshot::{Loopback, RoutingSnapshot};
use crate::model::routing::{ObservedGateway, ObservedRouting, RoutingTable};
use std::collections::BTreeMap;

/// `is_bridge`: whether a bridge domain is reported as a bridge.
pub(in crate::engine::vpp) fn observe(snapshot: &RoutingSnapshot, is_bridge: impl Fn(u32) -> bool) -> ObservedRouting {
    let mut gateways = BTreeMap::new();
    for (index, loopback) in &snapshot.loopbacks {
        let Some(network) = &loopback.network else { continue };
        let bridge = snapshot.bvi_of(*index, loopback).filter(|id| is_bridge(*id)).map(|id| id.to_string());
        gateways
            .entry(network.clone())
            .and_modify(|gateway: &mut ObservedGateway| gateway.is_twice = true)
            .or_insert_with(|| observe_gateway(snapshot, loopback, bridge));
    }
    let is_foreign = |(_, (index, _)): &(&u32, &(u32, String))| {
        snapshot.loopbacks.get(index).is_none_or(|loopback| loopback.network.is_none())
    };
    let foreign = snapshot.bvis.iter().filter(is_foreign);
    ObservedRouting {
        gateways,
        tables: snapshot.tables.keys().map(|table| (table.clone(), snapshot.ids_of(table).is_some())).collect(),
        foreign_gateways: foreign.map(|(id, (_, name))| (id.to_string(), name.clone())).collect(),
    }
}

fn observe_gateway(snapshot: &RoutingSnapshot, loopback: &Loopback, bridge: Option<String>) -> ObservedGateway {
    let mut tables = snapshot.tables.keys();
    let table: Option<&RoutingTable> = tables.find(|table| snapshot.ids_of(table) == Some(loopback.tables));
    ObservedGateway {
        bridge,
        mac: loopback.mac,
        mtu: loopback.mtu,
        addresses: loopback.addresses.clone(),
        table: table.cloned(),
        is_enabled: loopback.is_enabled,
        is_twice: false,
        limits_neighbours: snapshot.is_unlimited == [false; 2],
        excess: snapshot.excess(loopback),
    }
}
