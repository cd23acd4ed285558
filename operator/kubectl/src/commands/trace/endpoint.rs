//! The steps at one endpoint: its node, port and program.

use super::facts::Endpoint;
use super::path::Path;
use super::report::Conclusion;
use crate::commands::explain::remedy::remedy;
use crate::model::placements::placements;
use crate::model::{Objects, Snapshot};
use usnet_controller::status::tally::NodeProgress;
use usnet_node_output::bridge::PortFacts;

/// Checks that the node of an endpoint has the network, and that its engine responds.
pub(super) fn add_network(path: &mut Path, snapshot: &Snapshot, network: &str, endpoint: &Endpoint<'_>) {
    let node = endpoint.node();
    let placements = placements(snapshot, network);
    let placement = placements.iter().find(|placement| placement.node == node);
    let what = format!("network {network} is programmed");
    match placement.map(|placement| (placement.progress, placement)) {
        Some((Some(NodeProgress::Failed { reason, message }), _)) => {
            let why = format!("network {network} on node {node}: {message}");
            path.failed(node, what, Conclusion::new(reason, why, remedy(reason)));
        }
        None if !snapshot.has_read(Objects::States) || !snapshot.has_read(Objects::Compiled) => {
            path.unknown(node, format!("{what}: you may not read it"));
        }
        None => {
            let why = format!("node {node} does not have network {network}");
            let remedy = format!("kubectl usnet explain network {network}");
            path.failed(node, what, Conclusion::new("NetworkNotOnNode", why, remedy));
        }
        // A draining network keeps its ports.
        Some((Some(NodeProgress::Programmed) | None, _)) => path.passed(node, what),
        Some((Some(NodeProgress::Pending | NodeProgress::Unreachable), placement)) => {
            let (state, why) = placement.state(snapshot);
            path.unknown(node, format!("{what}: {state} {why}").trim_end().to_owned());
        }
    }
    if let Some(failure) = endpoint.bridge.as_ref().ok().and_then(|bridge| bridge.failures.first()) {
        let why = format!("the engine on node {node} does not respond: {failure}");
        let what = "the engine responds";
        path.failed(node, what, Conclusion::new("EngineUnreachable", why, remedy("EngineUnreachable")));
    }
}

/// Checks the port of an endpoint and its program. `sends` holds for the sending endpoint.
pub(super) fn add_endpoint(path: &mut Path, endpoint: &Endpoint<'_>, sends: bool) {
    let (node, name) = (endpoint.node(), endpoint.name());
    let attached = format!("{name} is attached");
    let not_attached = |path: &mut Path| {
        let why = format!("{name} is not attached on node {node}");
        let remedy = format!("kubectl usnet explain pod {}", endpoint.pod.reference());
        path.failed(node, attached.clone(), Conclusion::new("NotAttached", why, remedy));
    };
    let bridge = match &endpoint.bridge {
        Ok(bridge) => bridge,
        Err(_) if !endpoint.is_attached => return not_attached(path),
        Err(why) => {
            path.passed(node, attached.clone());
            return path.unknown(node, format!("the port of {name}: {why}"));
        }
    };
    let Some(port) = endpoint.port().filter(|port| port.is_attached) else {
        return not_attached(path);
    };
    if !bridge.failures.is_empty() {
        return path.unknown(node, format!("port {} of {name}", port.name));
    }
    if !port.is_there {
        let why = format!("port {} of {name} is not on bridge {}", port.name, bridge.bridge);
        let remedy = "the agent creates it again within seconds; if not, see kubectl usnet explain node";
        return path.failed(node, attached, Conclusion::new("PortMissing", why, remedy));
    }
    path.passed(node, format!("{name} is port {} of bridge {}", port.name, bridge.bridge));
    add_settings(path, node, &name, port);
    add_program(path, node, &name, port);
    if sends { add_sent(path, node, &name, port) } else { add_received(path, node, &name, port) }
}

fn add_settings(path: &mut Path, node: &str, name: &str, port: &PortFacts) {
    if let Some(problem) = &port.problem {
        let why = format!("port {} of {name}: {problem}", port.name);
        path.failed(
            node,
            format!("port {} works", port.name),
            Conclusion::new("PortFailed", why, remedy("PortFailed")),
        );
    }
    let what = format!("port {} has {}", port.name, port.vlan);
    if port.vlan == port.recorded_vlan {
        return path.passed(node, what);
    }
    let why = format!("port {} of {name} has {}, and should have {}", port.name, port.vlan, port.recorded_vlan);
    let remedy = "another client changed the port; the agent sets it again within seconds";
    path.failed(node, what, Conclusion::new("WrongVlan", why, remedy));
}

fn add_program(path: &mut Path, node: &str, name: &str, port: &PortFacts) {
    let what = format!("the program of {name} is connected");
    if port.is_connected {
        return path.passed(node, what);
    }
    let why = format!("no program of {name} is connected to port {}", port.name);
    path.failed(node, what, Conclusion::new("NotConnected", why, remedy("NotConnected")));
}

fn add_sent(path: &mut Path, node: &str, name: &str, port: &PortFacts) {
    let traffic = &port.counters.transmit;
    match traffic.packets {
        Some(packets) if packets > 0 => path.passed(
            node,
            format!("{name} has sent {packets} packets, {} dropped", traffic.dropped.unwrap_or_default()),
        ),
        _ => path.unknown(node, format!("{name} has sent no packet yet")),
    }
}

/// A ring that is full during a whole interval is not drained. Earlier drops may be from before the
/// program started.
fn add_received(path: &mut Path, node: &str, name: &str, port: &PortFacts) {
    let (before, now) = (&port.counters_before.receive, &port.counters.receive);
    let grown =
        |before: Option<u64>, now: Option<u64>| now.unwrap_or_default().saturating_sub(before.unwrap_or_default());
    let (received, dropped) = (grown(before.packets, now.packets), grown(before.dropped, now.dropped));
    let total = now.packets.unwrap_or_default();
    let what = format!("{name} has received {total} packets, {} dropped", now.dropped.unwrap_or_default());
    if port.is_connected && dropped > 0 && received == 0 {
        let why = format!(
            "port {} dropped {dropped} packets and delivered none: the program of {name} does not take packets from its ring",
            port.name
        );
        let remedy = "check the program: it is connected but does not poll this interface";
        return path.failed(node, what, Conclusion::new("RingNotDrained", why, remedy));
    }
    if total > 0 { path.passed(node, what) } else { path.unknown(node, format!("{name} has received no packet yet")) }
}
