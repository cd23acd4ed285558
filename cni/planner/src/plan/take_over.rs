//! Ports and bridges of the legacy plugin that get an ownership tag, without any other change:
//! their pods run, and no packet may be lost.
//!
//! A port is one that a record describes, by its bridge and its socket. A bridge is taken over if a
//! network needs it and it has ports of that network's pods alone: whatever else an administrator
//! added makes it one to adopt.

use super::operation::Op;
use crate::model::attachment::AttachmentId;
use crate::model::bridge::DesiredBridge;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedBridge, ObservedPort};
use crate::model::port::DesiredPort;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork, Ownership};

/// The operations that give tags, those of bridges first: VPP takes a bridge domain without a tag,
/// all interfaces of which have one, for one that it created implicitly.
pub(super) fn take_overs(desired: &Desired, observed: &Observed) -> Vec<Op> {
    if desired.legacy_ports.is_empty() {
        return Vec::new();
    }
    let networks = desired.networks.values().filter(|network| takes_bridge_over(network, desired, observed));
    let networks: BTreeMap<&NetworkName, &Arc<NodeNetwork>> =
        networks.map(|network| (&network.name, network)).collect();
    let bridge = |network: &&Arc<NodeNetwork>| Op::TakeOverBridge {
        // It has no flows of usnet yet; the next plan makes of it what the network needs.
        bridge: DesiredBridge::Network {
            network: network.name.clone(),
            bridge: network.bridge.clone(),
            policy_zone: None,
        },
    };
    let is_taken_over =
        |port: &DesiredPort| port.owner.network.as_ref().is_some_and(|network| networks.contains_key(network));
    let ports = untagged_ports(desired, observed)
        .filter(|port| is_taken_over(port) || can_be_tagged(port, desired, observed))
        .map(|port| Op::TakeOverPort { port: Box::new(port.clone()) });
    networks.values().map(bridge).chain(ports).collect()
}

/// The attachments whose ports are there without a tag. They must not be created.
pub(super) fn untagged<'a>(desired: &'a Desired, observed: &'a Observed) -> BTreeSet<&'a AttachmentId> {
    untagged_ports(desired, observed).filter_map(|port| port.owner.attachment()).collect()
}

/// The ports that are there without a tag.
fn untagged_ports<'a>(desired: &'a Desired, observed: &'a Observed) -> impl Iterator<Item = &'a DesiredPort> {
    let is_there = |port: &&DesiredPort| {
        let bridge = port.bridge_name().and_then(|name| observed.bridges.get(name.as_str()));
        bridge.is_some_and(|bridge| bridge.ports.values().any(|actual| is_untagged(actual, port)))
    };
    desired.legacy_ports.values().filter(is_there)
}

/// Whether a port can have a tag although its bridge may have none. One that is detached needs a
/// tag to be deleted.
fn can_be_tagged(port: &DesiredPort, desired: &Desired, observed: &Observed) -> bool {
    let is_detached = port.owner.attachment().is_some_and(|id| desired.detached.contains_key(id));
    let bridge = port.bridge_name().and_then(|name| observed.bridges.get(name.as_str()));
    bridge.is_some_and(|bridge| is_detached || bridge.owner.is_some() || bridge.adoption_blocker.is_none())
}

fn is_untagged(actual: &ObservedPort, port: &DesiredPort) -> bool {
    actual.owner.is_none() && actual.backend.as_ref() == Some(&port.backend)
}

/// Whether the bridge of a network is one of the legacy plugin that the network takes over.
pub(super) fn takes_bridge_over(network: &NodeNetwork, desired: &Desired, observed: &Observed) -> bool {
    let Some(actual) = observed.bridges.get(network.bridge.name.as_str()) else { return false };
    network.bridge.ownership == Ownership::Managed && is_of_legacy_plugin(actual, &network.name, desired)
}

fn is_of_legacy_plugin(actual: &ObservedBridge, network: &NetworkName, desired: &Desired) -> bool {
    if actual.owner.is_some() || !actual.has_supported_datapath {
        return false;
    }
    let of_network = |port: &&DesiredPort| port.owner.network.as_ref() == Some(network);
    let legacy: Vec<&DesiredPort> = desired.legacy_ports.values().filter(of_network).collect();
    let is_legacy = |port: &ObservedPort| legacy.iter().any(|legacy| actual_is(port, legacy));
    let is_of_network = |port: &ObservedPort| {
        is_legacy(port) || port.owner.as_ref().is_some_and(|owner| owner.network.as_ref() == Some(network))
    };
    actual.ports.values().any(is_legacy) && actual.ports.values().all(is_of_network)
}

/// Whether a port is this one of the legacy plugin, taken over or not.
fn actual_is(actual: &ObservedPort, port: &DesiredPort) -> bool {
    let is_owned = actual.owner.as_ref().is_none_or(|owner| port.owner.covers(owner));
    is_owned && actual.backend.as_ref() == Some(&port.backend)
}
