//! The steps at one end: its node, its port, its program.

use super::facts::End;
use super::report::Conclusion;
use super::way::Way;
use crate::controller::status::tally::NodeProgress;
use crate::kubectl::commands::explain::remedy::remedy;
use crate::kubectl::model::Snapshot;
use crate::kubectl::model::places::places;
use crate::node::bridge::PortFacts;

/// Whether the node of an end has the network.
pub(super) fn network_on_node(way: &mut Way, snapshot: &Snapshot, network: &str, end: &End<'_>) {
    let node = end.node();
    let places = places(snapshot, network);
    let place = places.iter().find(|place| place.node == node);
    let what = format!("network {network} is programmed");
    match place.map(|place| (place.progress, place)) {
        Some((Some(NodeProgress::Failed { reason, message }), _)) => {
            let why = format!("network {network} on node {node}: {message}");
            way.fails(node, what, Conclusion::new(reason, why, remedy(reason)));
        }
        None => {
            let why = format!("node {node} does not have network {network}");
            let remedy = format!("kubectl usnet explain network {network}");
            way.fails(node, what, Conclusion::new("NetworkNotOnNode", why, remedy));
        }
        // What drains keeps its ports.
        Some((Some(NodeProgress::Programmed) | None, _)) => way.passes(node, what),
        Some((Some(NodeProgress::Pending | NodeProgress::Unreachable), place)) => {
            let (state, why) = place.state(snapshot);
            way.unknown(node, format!("{what}: {state} {why}").trim_end().to_owned());
        }
    }
    if let Some(failure) = end.bridge.as_ref().ok().and_then(|bridge| bridge.failures.first()) {
        let why = format!("the engine on node {node} does not answer: {failure}");
        let what = "the engine answers";
        way.fails(node, what, Conclusion::new("EngineUnreachable", why, remedy("EngineUnreachable")));
    }
}

/// The port of an end, and the program behind it. `sends` of the end from which packets come.
pub(super) fn end(way: &mut Way, end: &End<'_>, sends: bool) {
    let (node, name) = (end.node(), end.name());
    let bridge = match &end.bridge {
        Ok(bridge) => bridge,
        Err(why) => return way.unknown(node, format!("the port of {name}: {why}")),
    };
    let attached = format!("{name} is attached");
    let Some(port) = end.port().filter(|port| port.is_attached) else {
        let why = format!("{name} is not attached on node {node}");
        let remedy = format!("kubectl usnet explain pod {}", end.pod.reference());
        return way.fails(node, attached, Conclusion::new("NotAttached", why, remedy));
    };
    if !bridge.failures.is_empty() {
        return way.unknown(node, format!("port {} of {name}", port.name));
    }
    if !port.is_there {
        let why = format!("port {} of {name} is not on bridge {}", port.name, bridge.bridge);
        let remedy = "the agent creates it again within seconds; if not, kubectl usnet explain node names why";
        return way.fails(node, attached, Conclusion::new("PortMissing", why, remedy));
    }
    way.passes(node, format!("{name} is port {} of bridge {}", port.name, bridge.bridge));
    settings(way, node, &name, port);
    program(way, node, &name, port);
    if sends { sending(way, node, &name, port) } else { receiving(way, node, &name, port) }
}

fn settings(way: &mut Way, node: &str, name: &str, port: &PortFacts) {
    if let Some(problem) = &port.problem {
        let why = format!("port {} of {name}: {problem}", port.name);
        way.fails(node, format!("port {} works", port.name), Conclusion::new("PortFailed", why, remedy("PortFailed")));
    }
    let what = format!("port {} has {}", port.name, port.vlan);
    if port.vlan == port.recorded_vlan {
        return way.passes(node, what);
    }
    let why = format!("port {} of {name} has {}, and should have {}", port.name, port.vlan, port.recorded_vlan);
    let remedy = "another client changed the port; the agent sets it again within seconds";
    way.fails(node, what, Conclusion::new("WrongVlan", why, remedy));
}

fn program(way: &mut Way, node: &str, name: &str, port: &PortFacts) {
    let what = format!("the program of {name} is connected");
    if port.is_connected {
        return way.passes(node, what);
    }
    let why = format!("no program of {name} is connected to port {}", port.name);
    way.fails(node, what, Conclusion::new("NotConnected", why, remedy("NotConnected")));
}

fn sending(way: &mut Way, node: &str, name: &str, port: &PortFacts) {
    let traffic = &port.counters.transmit;
    match traffic.packets {
        Some(packets) if packets > 0 => way.passes(
            node,
            format!("{name} has sent {packets} packets, {} dropped", traffic.dropped.unwrap_or_default()),
        ),
        _ => way.unknown(node, format!("{name} has sent no packet yet")),
    }
}

/// A ring that is full for all of an interval is not drained. What was dropped before may be from
/// before the program was there.
fn receiving(way: &mut Way, node: &str, name: &str, port: &PortFacts) {
    let (before, now) = (&port.counters_before.receive, &port.counters.receive);
    let grown =
        |before: Option<u64>, now: Option<u64>| now.unwrap_or_default().saturating_sub(before.unwrap_or_default());
    let (received, dropped) = (grown(before.packets, now.packets), grown(before.dropped, now.dropped));
    let total = now.packets.unwrap_or_default();
    let what = format!("{name} has received {total} packets, {} dropped before it", now.dropped.unwrap_or_default());
    if port.is_connected && dropped > 0 && received == 0 {
        let why = format!(
            "port {} dropped {dropped} packets and delivered none: the program of {name} does not take them from its ring",
            port.name
        );
        let remedy = "look at the program: it is connected, and does not poll this interface";
        return way.fails(node, what, Conclusion::new("RingNotDrained", why, remedy));
    }
    if total > 0 { way.passes(node, what) } else { way.unknown(node, format!("{name} has received no packet yet")) }
}
