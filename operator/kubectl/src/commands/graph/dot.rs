//! The graph in the language of Graphviz.

use super::report::{Graph, NetworkVertex};
use super::text::program;
use crate::output::line;
use std::fmt::Write;

/// Returns a file for `dot -Tsvg`.
pub(crate) fn dot(graph: &Graph) -> String {
    let mut text = "graph usnet {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for network in &graph.networks {
        add(&mut text, network);
    }
    text + "}\n"
}

fn add(text: &mut String, network: &NetworkVertex) {
    let id = quoted(&format!("network {}", network.name));
    let label = quoted(&format!("{}\n{}\n{}", network.name, network.description, network.topology));
    let _ = writeln!(text, "  {id} [label={label}, shape=ellipse];");
    for node in &network.nodes {
        // Each network has a bridge of its own on a node, so networks do not share vertices.
        let bridge = quoted(&format!("{} on {}", network.name, node.name));
        let style = if node.state == "Programmed" { "" } else { ", color=red" };
        let label = quoted(&format!("{}\n{}", node.name, node.state));
        let _ = writeln!(text, "  {bridge} [label={label}{style}];");
        let link = if network.connects_nodes { "solid" } else { "dashed" };
        let _ = writeln!(text, "  {id} -- {bridge} [style={link}];");
        for attached in &node.interfaces {
            let pod = quoted(&format!("pod {}", attached.pod));
            let name = quoted(&attached.pod);
            let edge = quoted(&format!("{} {}", attached.interface, program(attached.program)));
            let _ = writeln!(text, "  {pod} [label={name}, shape=component];\n  {bridge} -- {pod} [label={edge}];");
        }
    }
}

/// Quotes untrusted text, which can end neither the string nor the line.
fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(|part| line(part).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
