//! The graph in the language of Mermaid: nodes are subgraphs with bridges and pods.

use super::frames::{Bridge, Frame, Level, PodBox, frames};
use super::report::{Graph, NodeVertex, first_word};
use crate::output::line;
use std::fmt::Write;

const PROBLEM: &str = ":::problem";

/// Returns a flowchart.
pub(crate) fn mermaid(graph: &Graph) -> String {
    let mut text = "flowchart LR\n  classDef problem stroke:#d0342c,color:#d0342c,stroke-width:2px\n".to_owned();
    for (number, network) in graph.networks.iter().enumerate() {
        let label = quoted(&[&network.name, &network.description, &network.topology]);
        let style = if network.nodes.iter().any(NodeVertex::has_own_failure) { PROBLEM } else { "" };
        let _ = writeln!(text, "  network{number}([{label}]){style}");
    }
    let mut bad = Vec::new();
    for (number, frame) in frames(graph).iter().enumerate() {
        add(&mut text, graph, (number, frame));
        if !frame.problems.is_empty() {
            bad.push(format!("node{number}"));
        }
    }
    if !bad.is_empty() {
        let _ = writeln!(text, "  class {} problem", bad.join(","));
    }
    text
}

fn add(text: &mut String, graph: &Graph, (number, frame): (usize, &Frame<'_>)) {
    let title = frame.title();
    let (unreachable, unused) = (frame.unreachable_text(), frame.unused_text());
    let lines = [title.as_str()].into_iter().chain(frame.engines.iter().map(String::as_str));
    let lines =
        lines.chain(unreachable.as_deref()).chain(unused.as_deref()).chain(frame.problems.iter().map(String::as_str));
    let _ = writeln!(text, "  subgraph node{number}[{}]", quoted(&lines.collect::<Vec<_>>()));
    for bridge in &frame.bridges {
        let style = if bridge.level == Level::Bad { PROBLEM } else { "" };
        let _ = writeln!(text, "    {}[{}]{style}", bridge_id(number, bridge.network), bridge_label(graph, bridge));
    }
    for (index, pod) in frame.pods.iter().enumerate() {
        add_pod(text, frame, (number, index), pod);
    }
    text.push_str("  end\n");
    for bridge in &frame.bridges {
        let Some(network) = graph.networks.get(bridge.network) else { continue };
        let link = if network.connects_nodes { "---" } else { "-.-" };
        let nic = frame.uplinks.iter().find(|uplink| Some(&uplink.uplink) == network.uplink.as_ref());
        let nic = nic.filter(|uplink| !uplink.nic.is_empty());
        let nic = nic.map(|uplink| format!("|{}|", quoted(&[&uplink.nic]))).unwrap_or_default();
        let _ = writeln!(text, "  network{} {link}{nic} {}", bridge.network, bridge_id(number, bridge.network));
    }
}

fn add_pod(text: &mut String, frame: &Frame<'_>, (number, index): (usize, usize), pod: &PodBox<'_>) {
    let is_bad = pod.ports.iter().any(|port| port.level == Level::Bad);
    let style = if is_bad { PROBLEM } else { "" };
    let id = format!("pod{number}x{index}");
    let _ = writeln!(text, "    {id}[[{}]]{style}", quoted(&[pod.name]));
    for port in &pod.ports {
        if frame.bridges.iter().any(|bridge| bridge.network == port.network) {
            let label = format!("{} {}", port.interface, port.state);
            let _ = writeln!(text, "    {} -- {} --- {id}", bridge_id(number, port.network), quoted(&[label.trim()]));
        }
    }
}

fn bridge_label(graph: &Graph, bridge: &Bridge<'_>) -> String {
    let network = graph.networks.get(bridge.network);
    let name = network.map_or("", |network| if network.bridge.is_empty() { &network.name } else { &network.bridge });
    let reason = first_word("", bridge.reason);
    let state = format!("{} {reason}", bridge.state);
    let unnamed = format!("and {} more interfaces", bridge.unnamed);
    let mut lines = vec![name];
    if bridge.level != Level::Good {
        lines.push(state.trim_end());
    }
    if bridge.unnamed > 0 {
        lines.push(&unnamed);
    }
    quoted(&lines)
}

fn bridge_id(frame: usize, network: usize) -> String {
    format!("bridge{frame}x{network}")
}

/// Quotes the lines of a label. Mermaid has entities instead of escapes.
fn quoted(lines: &[&str]) -> String {
    let escaped = |text: &&str| line(text).replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;");
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join("<br/>"))
}
