//! The graph in the language of Graphviz: nodes are clusters with bridges and pods.

use super::frames::{Bridge, Frame, Level, Port, frames};
use super::report::{Graph, NodeVertex, first_word};
use crate::output::line;
use std::fmt::Write;

/// The attributes of what has a problem.
const PROBLEM: &str = ", color=red, fontcolor=red";

/// Returns a file for `dot -Tsvg`.
pub(crate) fn dot(graph: &Graph) -> String {
    let mut text = "graph usnet {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for network in &graph.networks {
        let label = quoted(&format!("{}\n{}\n{}", network.name, network.description, network.topology));
        let style = if network.nodes.iter().any(NodeVertex::has_own_failure) { PROBLEM } else { "" };
        let _ = writeln!(text, "  {} [label={label}, shape=ellipse{style}];", network_id(&network.name));
    }
    for frame in &frames(graph) {
        add(&mut text, graph, frame);
    }
    text + "}\n"
}

fn add(text: &mut String, graph: &Graph, frame: &Frame<'_>) {
    let unused = frame.unreachable_text().into_iter().chain(frame.unused_text());
    let lines: Vec<_> = [frame.title()].into_iter().chain(frame.engines.iter().cloned()).chain(unused).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).chain(frame.problems.iter().map(String::as_str)).collect();
    let style = if frame.problems.is_empty() { "" } else { " color=red; fontcolor=red;" };
    let id = quoted(&format!("cluster {}", frame_id(frame)));
    let _ = writeln!(text, "  subgraph {id} {{\n    label={};{style}", quoted(&lines.join("\n")));
    for bridge in &frame.bridges {
        let Some(network) = graph.networks.get(bridge.network) else { continue };
        let name = if network.bridge.is_empty() { &network.name } else { &network.bridge };
        let style = if bridge.level == Level::Bad { PROBLEM } else { "" };
        let _ =
            writeln!(text, "    {} [label={}{style}];", bridge_id(graph, frame, bridge.network), state(name, bridge));
    }
    if frame.bridges.is_empty() && frame.pods.is_empty() {
        // A cluster without a vertex is not drawn.
        let _ = writeln!(text, "    {} [label=\"\", style=invis];", quoted(&format!("empty {}", frame_id(frame))));
    }
    for pod in &frame.pods {
        let style = if pod.ports.iter().any(|port| port.level == Level::Bad) { PROBLEM } else { "" };
        let _ = writeln!(text, "    {} [label={}, shape=component{style}];", pod_id(pod.name), quoted(pod.name));
        for port in &pod.ports {
            add_port(text, &bridge_id(graph, frame, port.network), &pod_id(pod.name), frame, port);
        }
    }
    text.push_str("  }\n");
    for bridge in &frame.bridges {
        let Some(network) = graph.networks.get(bridge.network) else { continue };
        let nic = frame.uplinks.iter().find(|uplink| Some(&uplink.uplink) == network.uplink.as_ref());
        let nic = nic.map(|uplink| format!(", label={}", quoted(&uplink.nic))).unwrap_or_default();
        let style = if network.connects_nodes { "solid" } else { "dashed" };
        let bridge = bridge_id(graph, frame, bridge.network);
        let _ = writeln!(text, "  {} -- {bridge} [style={style}{nic}];", network_id(&network.name));
    }
}

fn add_port(text: &mut String, bridge: &str, pod: &str, frame: &Frame<'_>, port: &Port<'_>) {
    if frame.bridges.iter().any(|bridge| bridge.network == port.network) {
        let label = quoted(format!("{} {}", port.interface, port.state).trim());
        let style = if port.level == Level::Bad { PROBLEM } else { "" };
        let _ = writeln!(text, "    {bridge} -- {pod} [label={label}{style}];");
    }
}

fn state(name: &str, bridge: &Bridge<'_>) -> String {
    let reason = first_word("", bridge.reason);
    let mut lines = vec![name.to_owned()];
    if bridge.level != Level::Good {
        lines.push(format!("{} {reason}", bridge.state).trim_end().to_owned());
    }
    if bridge.unnamed > 0 {
        lines.push(format!("and {} more interfaces", bridge.unnamed));
    }
    quoted(&lines.join("\n"))
}

fn frame_id(frame: &Frame<'_>) -> String {
    frame.nodes.first().map_or_else(|| "on no node".to_owned(), |name| (*name).to_owned())
}

fn network_id(name: &str) -> String {
    quoted(&format!("network {name}"))
}

fn bridge_id(graph: &Graph, frame: &Frame<'_>, network: usize) -> String {
    let name = graph.networks.get(network).map_or("", |network| &network.name);
    quoted(&format!("{name} on {}", frame_id(frame)))
}

fn pod_id(name: &str) -> String {
    quoted(&format!("pod {name}"))
}

/// Quotes untrusted text, which can end neither the string nor the line.
fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(|part| line(part).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
