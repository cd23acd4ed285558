//! Which gateways and routing tables are removed, created and changed.

use super::operation::RoutingOp;
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::model::routing::{NetworkGateway, ObservedRouting, RoutingTable};
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork};

/// The operations, by their places in a plan.
#[derive(Debug, Default)]
pub(in crate::plan) struct RoutingChanges {
    /// Before bridges are removed: a bridge with a gateway is not empty.
    pub(in crate::plan) removals: Vec<Op>,
    /// When the bridges are there.
    pub(in crate::plan) additions: Vec<Op>,
    /// Last: a table is removed when no gateway uses it any more.
    pub(in crate::plan) leftovers: Vec<Op>,
}

/// Whether the bridge of a network has a gateway of others.
fn is_foreign(observed: &Observed, network: &NodeNetwork) -> bool {
    observed.routing.foreign_gateways.contains_key(network.bridge.name.as_str())
}

/// `keeps`: whether a bridge of a network that is not desired stays, for its pods. `accepts`:
/// whether the bridge of a desired network is its own when the removals are done.
pub(in crate::plan) fn changes(
    desired: &Desired,
    observed: &Observed,
    keeps: impl Fn(&str, &NetworkName) -> bool,
    accepts: impl Fn(&NetworkGateway) -> bool,
) -> RoutingChanges {
    let ObservedRouting { gateways, tables, .. } = &observed.routing;
    let is_free = |network: &&Arc<NodeNetwork>| !is_foreign(observed, network);
    let wanted: BTreeMap<&NetworkName, NetworkGateway> = desired
        .networks
        .values()
        .filter(is_free)
        .filter_map(|network| Some((&network.name, NetworkGateway::new(network).filter(&accepts)?)))
        .map(|(name, gateway)| (name, NetworkGateway { is_held: desired.held_gateways.contains(name), ..gateway }))
        .collect();
    let mut plan = RoutingChanges::default();
    let mut removed = BTreeSet::new();
    let mut needed: BTreeSet<&RoutingTable> = wanted.values().map(|gateway| &gateway.table).collect();
    for (network, actual) in gateways {
        let bridge = actual.bridge.as_deref();
        let stays = match desired.networks.get(network) {
            Some(spec) => spec.gateway.is_some() && bridge.is_none_or(|bridge| bridge == spec.bridge.name.as_str()),
            None => bridge.is_some_and(|bridge| keeps(bridge, network)),
        };
        if !stays {
            removed.insert(network);
            plan.removals.push(RoutingOp::RemoveGateway { network: network.clone() }.into());
        } else if !wanted.contains_key(network) {
            needed.extend(&actual.table);
        }
    }
    let mut created = BTreeSet::new();
    for (network, gateway) in &wanted {
        let is_complete = tables.get(&gateway.table).copied().unwrap_or_default();
        if !is_complete && created.insert(&gateway.table) {
            let (network, table) = ((*network).clone(), gateway.table.clone());
            plan.additions.push(RoutingOp::CreateTable { network, table }.into());
        }
    }
    for (network, gateway) in &wanted {
        let actual = gateways.get(network).filter(|_| !removed.contains(network));
        if !actual.is_some_and(|actual| actual.matches(gateway)) {
            plan.additions.push(RoutingOp::SetGateway { gateway: gateway.clone() }.into());
        }
    }
    let unused = tables.keys().filter(|table| !needed.contains(*table));
    plan.leftovers.extend(unused.map(|table| RoutingOp::RemoveTable { table: table.clone() }.into()));
    plan
}
