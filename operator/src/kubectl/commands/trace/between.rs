//! The steps between the ends: VLANs, the connection of their nodes, learned addresses.

use super::facts::{End, Facts};
use super::report::Conclusion;
use super::way::Way;
use crate::kubectl::commands::explain::remedy::remedy;
use crate::kubectl::model::Snapshot;
use crate::node::bridge::{BridgeFacts, Overlay};
use usnet_crds::uplink::report::UplinkState;
use usnet_dataplane::inspect::PortKind;

pub(super) fn between(way: &mut Way, snapshot: &Snapshot, facts: &Facts<'_>) {
    settings_of_both(way, facts);
    if !facts.is_on_one_node() {
        connection(way, snapshot, facts);
    }
    learned(way, facts, &facts.from, &facts.to);
    if !facts.is_on_one_node() {
        learned(way, facts, &facts.to, &facts.to);
        arrived(way, facts);
    }
}

/// Ports of one network can have VLANs and an MTU of their own.
fn settings_of_both(way: &mut Way, facts: &Facts<'_>) {
    let (Some(from), Some(to)) = (facts.from.port(), facts.to.port()) else { return };
    // A trunk and one of its VLANs do reach each other.
    let is_trunk = |vlan: &str| vlan.contains("trunk");
    // What another client changed is said of the port itself.
    let is_as_recorded = [from, to].iter().all(|port| port.is_there && port.vlan == port.recorded_vlan);
    if is_as_recorded && from.vlan != to.vlan && !is_trunk(&from.vlan) && !is_trunk(&to.vlan) {
        let why = format!("{} has {}, and {} has {}", facts.from.name(), from.vlan, facts.to.name(), to.vlan);
        let remedy = "give both pods one VLAN: spec.attachments and spec.port.vlan of the network";
        way.fails("", "both ports are in one VLAN", Conclusion::new("VlansDiffer", why, remedy));
    }
    if let (Some(one), Some(other)) = (from.mtu, to.mtu)
        && one != other
    {
        let why = format!(
            "{} has MTU {one}, and {} has MTU {other}: the larger frames are lost",
            facts.from.name(),
            facts.to.name()
        );
        let remedy = "create the pod with the other MTU again: a new spec.bridge.mtu is that of new pods";
        way.fails("", "both ports have one MTU", Conclusion::new("MtuDiffers", why, remedy));
    }
}

/// How the bridges of two nodes are connected.
fn connection(way: &mut Way, snapshot: &Snapshot, facts: &Facts<'_>) {
    let bridges = (facts.from.bridge.as_ref(), facts.to.bridge.as_ref());
    let (Ok(from), Ok(to)) = bridges else {
        return way.unknown("", "the connection of both nodes");
    };
    match (&from.overlay, &to.overlay, &from.uplink) {
        (Some(one), Some(other), _) => overlay(way, facts, one, other),
        (_, _, Some(uplink)) => {
            uplink_of(way, snapshot, &facts.from, uplink);
            uplink_of(way, snapshot, &facts.to, uplink);
        }
        _ => {
            let why = format!(
                "{} is on node {}, {} on node {}, and network {} ends at its node",
                facts.from.pod.reference(),
                facts.from.node(),
                facts.to.pod.reference(),
                facts.to.node(),
                facts.network
            );
            let remedy =
                "set spec.topology of the network (docs/networks-across-nodes.md), or run both pods on one node";
            way.fails("", "the bridges of both nodes are connected", Conclusion::new("NodeLocal", why, remedy));
        }
    }
}

fn overlay(way: &mut Way, facts: &Facts<'_>, from: &Overlay, to: &Overlay) {
    for (end, one, other, far) in [(&facts.from, from, to, &facts.to), (&facts.to, to, from, &facts.from)] {
        let what = format!("sends to node {} at {}", far.node(), other.local);
        if one.is_multicast || one.peers.contains(&other.local) {
            way.passes(end.node(), what);
            continue;
        }
        let why = format!("node {} does not know {}, the address of node {}", end.node(), other.local, far.node());
        way.fails(end.node(), what, Conclusion::new("PeerUnknown", why, remedy("PeersUnknown")));
    }
}

fn uplink_of(way: &mut Way, snapshot: &Snapshot, end: &End<'_>, name: &str) {
    let node = end.node();
    let report = snapshot.reports.get(node).and_then(|status| status.uplinks.iter().find(|uplink| uplink.name == name));
    let Some(report) = report else { return way.unknown(node, format!("uplink {name}")) };
    let what = format!("uplink {name} has NIC {}", report.nic);
    match report.state {
        UplinkState::Programmed => way.passes(node, what),
        UplinkState::Pending => way.unknown(node, format!("uplink {name} is not programmed yet")),
        UplinkState::Failed => {
            let why = format!("uplink {name} on node {node}: {}", report.message);
            way.fails(
                node,
                format!("uplink {name} works"),
                Conclusion::new(&report.reason, why, remedy(&report.reason)),
            );
        }
    }
}

/// Where the bridge of the node of `at` has learned the address of `of`: behind its port, or on
/// another node behind what connects them.
fn learned(way: &mut Way, facts: &Facts<'_>, at: &End<'_>, of: &End<'_>) {
    let (Ok(bridge), Some(port)) = (&at.bridge, of.port()) else { return };
    let node = at.node();
    let is_here = node == of.node();
    let is_right = |entry: &usnet_dataplane::inspect::LearnedMac| match is_here {
        true => entry.port == port.name,
        false => entry.kind == PortKind::Nodes,
    };
    let entries: Vec<_> = bridge.macs.iter().filter(|entry| entry.mac == port.mac).collect();
    let owner = |name: &str| owner_of(bridge, name);
    if let Some(entry) = entries.iter().find(|entry| is_right(entry)) {
        let age = entry.age_seconds.map(|age| format!(", {age} s ago")).unwrap_or_default();
        return way.passes(node, format!("{} ({}) is learned at {}{age}", port.mac, of.name(), entry.port));
    }
    match entries.first() {
        None => {
            way.unknown(node, format!("{} ({}) is not learned: what is sent to it is flooded", port.mac, of.name()));
        }
        Some(entry) => {
            let what = format!("{} ({}) is learned at {}", port.mac, of.name(), entry.port);
            let why = format!(
                "node {node} has learned the MAC address of {} at {}: another program sends with it, or frames run in a loop",
                of.name(),
                owner(&entry.port)
            );
            let remedy = format!(
                "give each pod of network {} a MAC address of its own, and look for a second connection between its nodes",
                facts.network
            );
            way.fails(node, what, Conclusion::new("LearnedElsewhere", why, remedy));
        }
    }
}

fn owner_of(bridge: &BridgeFacts, name: &str) -> String {
    let owner = bridge.ports.iter().find(|port| port.name == name);
    owner.map_or_else(|| format!("port {name}"), |port| format!("{} {}", port.pod, port.interface))
}

/// Whether frames of the sender have come to the other node: it learns from them.
fn arrived(way: &mut Way, facts: &Facts<'_>) {
    let (Ok(bridge), Some(port)) = (&facts.to.bridge, facts.from.port()) else { return };
    let node = facts.to.node();
    let is_there = bridge.macs.iter().any(|entry| entry.mac == port.mac && entry.kind == PortKind::Nodes);
    match is_there {
        true => way.passes(node, format!("frames of {} arrive", facts.from.name())),
        false => way.unknown(node, format!("no frame of {} has arrived lately", facts.from.name())),
    }
}
