//! Ports and bridges of the legacy plugin that get an ownership tag, without any other change: their
//! pods run, and no packet may be lost.
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
use std::collections::BTreeSet;
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork, Ownership};

/// The operations that give tags: ports first, so that a bridge without a tag never has only ports
/// with one while the plan waits.
pub(super) fn take_overs(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let ports = untagged_ports(desired, observed).map(|port| Op::TakeOverPort { port: Box::new(port.clone()) });
    let networks = desired.networks.values().filter(|network| takes_bridge_over(network, desired, observed));
    let bridge = |network: &Arc<NodeNetwork>| Op::TakeOverBridge {
        bridge: DesiredBridge::Network { network: network.name.clone(), bridge: network.bridge.clone() },
    };
    ports.chain(networks.map(bridge)).collect()
}

/// The attachments whose ports are there without a tag. They must not be created.
pub(super) fn untagged<'a>(desired: &'a Desired, observed: &'a Observed) -> BTreeSet<&'a AttachmentId> {
    untagged_ports(desired, observed).filter_map(|port| port.owner.attachment()).collect()
}

fn untagged_ports<'a>(desired: &'a Desired, observed: &'a Observed) -> impl Iterator<Item = &'a DesiredPort> {
    let is_there = |port: &&DesiredPort| {
        let bridge = port.bridge_name().and_then(|name| observed.bridges.get(name.as_str()));
        bridge.is_some_and(|bridge| bridge.ports.values().any(|actual| is_untagged(actual, port)))
    };
    desired.legacy_ports.values().filter(is_there)
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
    let of_network = |port: &&DesiredPort| port.owner.network.as_ref() == Some(network);
    let legacy: Vec<&DesiredPort> = desired.legacy_ports.values().filter(of_network).collect();
    let is_legacy = |port: &ObservedPort| legacy.iter().any(|legacy| actual_is(port, legacy));
    let is_of_network = |port: &ObservedPort| {
        is_legacy(port) || port.owner.as_ref().is_some_and(|owner| owner.network.as_ref() == Some(network))
    };
    actual.owner.is_none()
        && actual.adoption_blocker.is_none()
        && actual.has_supported_datapath
        && actual.ports.values().any(is_legacy)
        && actual.ports.values().all(is_of_network)
}

/// Whether a port is this one of the legacy plugin, taken over or not.
fn actual_is(actual: &ObservedPort, port: &DesiredPort) -> bool {
    let is_owned = actual.owner.as_ref().is_none_or(|owner| port.owner.covers(owner));
    is_owned && actual.backend.as_ref() == Some(&port.backend)
}
