//! The graph as a tree.

use super::report::{Graph, NetworkVertex, NodeVertex};
use crate::commands::pods::report::{Attached, Program};
use crate::commands::shared::unread_text;
use crate::output::line;
use std::fmt::Write;

pub(crate) fn text(graph: &Graph) -> String {
    let mut text = if graph.networks.is_empty() { "There are no networks.\n".to_owned() } else { String::new() };
    for (index, network) in graph.networks.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        add(&mut text, network);
    }
    text + &unread_text(&graph.not_read)
}

fn add(text: &mut String, network: &NetworkVertex) {
    let NetworkVertex { name, description, topology, .. } = network;
    let _ = writeln!(text, "{name}  ({description}; {topology})");
    if network.nodes.is_empty() {
        text.push_str("└─ on no node\n");
    }
    for (index, node) in network.nodes.iter().enumerate() {
        let is_last = index + 1 == network.nodes.len();
        let (branch, indent) = if is_last { ("└─", "   ") } else { ("├─", "│  ") };
        let reason = if node.reason.is_empty() { String::new() } else { format!(": {}", line(&node.reason)) };
        let _ = writeln!(text, "{branch} {} {}{reason}", node.name, node.state);
        for (number, attached) in rows(node).iter().enumerate() {
            let branch = if number + 1 == rows(node).len() { "└─" } else { "├─" };
            let _ = writeln!(text, "{indent}{branch} {attached}");
        }
    }
}

fn rows(node: &NodeVertex) -> Vec<String> {
    let row = |attached: &Attached| {
        let parts = [
            line(&attached.pod),
            line(&attached.interface),
            line(&attached.addresses.join(",")),
            program(attached.program).to_owned(),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    };
    let unnamed = (node.unnamed > 0).then(|| format!("{} more interfaces", node.unnamed));
    node.interfaces.iter().map(row).chain(unnamed).collect()
}

/// Returns the state of a program, for users.
pub(super) const fn program(program: Program) -> &'static str {
    match program {
        Program::Connected => "connected",
        Program::NotConnected => "NOT CONNECTED",
        Program::Failed => "FAILED",
        Program::NotNeeded | Program::Unknown => "",
    }
}
