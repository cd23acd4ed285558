//! The graph in the language of Mermaid.

use super::report::{Graph, NetworkVertex};
use super::text::program;
use crate::output::line;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns a flowchart, in which a pod of several networks is one vertex.
pub(crate) fn mermaid(graph: &Graph) -> String {
    let mut text = "flowchart LR\n".to_owned();
    let mut pods = BTreeMap::new();
    for (number, network) in graph.networks.iter().enumerate() {
        add(&mut text, number, network, &mut pods);
    }
    text
}

fn add<'a>(text: &mut String, number: usize, network: &'a NetworkVertex, pods: &mut BTreeMap<&'a str, usize>) {
    let label = quoted(&[&network.name, &network.description, &network.topology]);
    let _ = writeln!(text, "  network{number}([{label}])");
    for (index, node) in network.nodes.iter().enumerate() {
        let bridge = format!("node{number}x{index}");
        let link = if network.connects_nodes { "---" } else { "-.-" };
        let _ = writeln!(text, "  network{number} {link} {bridge}[{}]", quoted(&[&node.name, &node.state]));
        for attached in &node.interfaces {
            let next = pods.len();
            let pod = *pods.entry(attached.pod.as_str()).or_insert(next);
            if pod == next {
                let _ = writeln!(text, "  pod{pod}[[{}]]", quoted(&[&attached.pod]));
            }
            let edge = format!("{} {}", attached.interface, program(attached.program));
            let _ = writeln!(text, "  {bridge} -- {} --- pod{pod}", quoted(&[edge.trim()]));
        }
    }
}

/// Quotes the lines of a label. Mermaid has entities instead of escapes.
fn quoted(lines: &[&str]) -> String {
    let escaped = |text: &&str| line(text).replace('#', "#35;").replace('"', "#quot;").replace('<', "#lt;");
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join("<br/>"))
}
