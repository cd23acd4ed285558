//! The steps between the endpoints: VLANs and MTUs, the connection of their nodes, learned MAC
//! addresses.

use super::facts::{Endpoint, Facts};
use super::path::Path;
use super::report::Conclusion;
use crate::commands::explain::remedy::remedy;
use crate::model::Snapshot;
use usnet_crds::uplink::report::UplinkState;
use usnet_node_output::bridge::{BridgeFacts, Overlay};
use usnet_planner::model::learned_mac::PortKind;

pub(super) fn add_bridges(path: &mut Path, snapshot: &Snapshot, facts: &Facts<'_>) {
    add_settings(path, facts);
    if !facts.is_on_one_node() {
        add_connection(path, snapshot, facts);
    }
    add_learned_mac(path, facts, &facts.from, &facts.to);
    if !facts.is_on_one_node() {
        add_learned_mac(path, facts, &facts.to, &facts.to);
        add_received_frames(path, facts);
    }
}

/// Compares the VLANs and MTUs of both ports, which can differ within a network.
fn add_settings(path: &mut Path, facts: &Facts<'_>) {
    let (Some(from), Some(to)) = (facts.from.port(), facts.to.port()) else { return };
    // A trunk port reaches the access ports of its VLANs.
    let is_trunk = |vlan: &str| vlan.contains("trunk");
    // A VLAN that another client changed is reported for the port itself.
    let is_as_recorded = [from, to].iter().all(|port| port.is_there && port.vlan == port.recorded_vlan);
    if is_as_recorded && from.vlan != to.vlan && !is_trunk(&from.vlan) && !is_trunk(&to.vlan) {
        let why = format!("{} has {}, and {} has {}", facts.from.name(), from.vlan, facts.to.name(), to.vlan);
        let remedy = "put both pods into one VLAN: spec.attachments and spec.port.vlan of the network";
        path.failed("", "both ports are in one VLAN", Conclusion::new("VlansDiffer", why, remedy));
    }
    if let (Some(one), Some(other)) = (from.mtu, to.mtu)
        && one != other
    {
        let why = format!(
            "{} has MTU {one}, and {} has MTU {other}: the larger frames are lost",
            facts.from.name(),
            facts.to.name()
        );
        let remedy = "create the pod with the old MTU again: only new pods get a changed spec.bridge.mtu";
        path.failed("", "both ports have one MTU", Conclusion::new("MtuDiffers", why, remedy));
    }
}

/// Checks how the bridges of two nodes are connected.
fn add_connection(path: &mut Path, snapshot: &Snapshot, facts: &Facts<'_>) {
    let bridges = (facts.from.bridge.as_ref(), facts.to.bridge.as_ref());
    let (Ok(from), Ok(to)) = bridges else {
        return path.unknown("", "the connection between the nodes");
    };
    match (&from.overlay, &to.overlay, &from.uplink) {
        (Some(one), Some(other), _) => add_overlay(path, facts, one, other),
        (_, _, Some(uplink)) => {
            add_uplink(path, snapshot, &facts.from, uplink);
            add_uplink(path, snapshot, &facts.to, uplink);
        }
        _ => {
            let why = format!(
                "{} is on node {}, {} on node {}, and network {} does not connect nodes",
                facts.from.pod.reference(),
                facts.from.node(),
                facts.to.pod.reference(),
                facts.to.node(),
                facts.network
            );
            let remedy =
                "set spec.topology of the network (docs/networks-across-nodes.md), or run both pods on one node";
            path.failed("", "the bridges of both nodes are connected", Conclusion::new("NodeLocal", why, remedy));
        }
    }
}

fn add_overlay(path: &mut Path, facts: &Facts<'_>, from: &Overlay, to: &Overlay) {
    for (endpoint, one, other, far) in [(&facts.from, from, to, &facts.to), (&facts.to, to, from, &facts.from)] {
        let what = format!("sends to node {} at {}", far.node(), other.local);
        if one.is_multicast || one.peers.contains(&other.local) {
            path.passed(endpoint.node(), what);
            continue;
        }
        let why = format!("node {} does not know {}, the address of node {}", endpoint.node(), other.local, far.node());
        path.failed(endpoint.node(), what, Conclusion::new("PeerUnknown", why, remedy("PeersUnknown")));
    }
}

fn add_uplink(path: &mut Path, snapshot: &Snapshot, endpoint: &Endpoint<'_>, name: &str) {
    let node = endpoint.node();
    let report = snapshot.reports.get(node).and_then(|status| status.uplinks.iter().find(|uplink| uplink.name == name));
    let Some(report) = report else { return path.unknown(node, format!("uplink {name}")) };
    let what = format!("uplink {name} has NIC {}", report.nic);
    match report.state {
        UplinkState::Programmed => path.passed(node, what),
        UplinkState::Pending => path.unknown(node, format!("uplink {name} is not programmed yet")),
        UplinkState::Failed => {
            let why = format!("uplink {name} on node {node}: {}", report.message);
            path.failed(
                node,
                format!("uplink {name} works"),
                Conclusion::new(&report.reason, why, remedy(&report.reason)),
            );
        }
    }
}

/// Checks where the bridge on the node of `at` has learned the MAC address of `of`: at its port,
/// or, on another node, at the port that connects the nodes.
fn add_learned_mac(path: &mut Path, facts: &Facts<'_>, at: &Endpoint<'_>, of: &Endpoint<'_>) {
    let (Ok(bridge), Some(port)) = (&at.bridge, of.port()) else { return };
    let node = at.node();
    let is_same_node = node == of.node();
    let is_right = |entry: &usnet_planner::model::learned_mac::LearnedMac| match is_same_node {
        true => entry.port == port.name,
        false => entry.kind == PortKind::Nodes,
    };
    let entries: Vec<_> = bridge.macs.iter().filter(|entry| entry.mac == port.mac).collect();
    let owner = |name: &str| owner_of(bridge, name);
    if let Some(entry) = entries.iter().find(|entry| is_right(entry)) {
        let age = entry.age_seconds.map(|age| format!(", {age} s ago")).unwrap_or_default();
        return path.passed(node, format!("{} ({}) is learned at {}{age}", port.mac, of.name(), entry.port));
    }
    match entries.first() {
        None => {
            path.unknown(node, format!("{} ({}) is not learned: frames to it are flooded", port.mac, of.name()));
        }
        Some(entry) => {
            let what = format!("{} ({}) is learned at {}", port.mac, of.name(), entry.port);
            let why = format!(
                "node {node} has learned the MAC address of {} at {}: another program sends with this address, or frames loop",
                of.name(),
                owner(&entry.port)
            );
            let remedy = format!(
                "give each pod of network {} a MAC address of its own, and look for a second connection between its nodes",
                facts.network
            );
            path.failed(node, what, Conclusion::new("LearnedElsewhere", why, remedy));
        }
    }
}

fn owner_of(bridge: &BridgeFacts, name: &str) -> String {
    let owner = bridge.ports.iter().find(|port| port.name == name);
    owner.map_or_else(|| format!("port {name}"), |port| format!("{} {}", port.pod, port.interface))
}

/// Checks whether the other node has learned the sender's MAC address, and so has received its
/// frames.
fn add_received_frames(path: &mut Path, facts: &Facts<'_>) {
    let (Ok(bridge), Some(port)) = (&facts.to.bridge, facts.from.port()) else { return };
    let node = facts.to.node();
    let is_there = bridge.macs.iter().any(|entry| entry.mac == port.mac && entry.kind == PortKind::Nodes);
    match is_there {
        true => path.passed(node, format!("frames from {} arrive", facts.from.name())),
        false => path.unknown(node, format!("no frame from {} has arrived recently", facts.from.name())),
    }
}
