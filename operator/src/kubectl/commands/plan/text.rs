//! A plan, for users.

use super::nodes::{Effect, NodeChange};
use super::report::{NetworkChange, Report};
use crate::kubectl::commands::shared::{gaps_text, some};
use crate::kubectl::output::{count, line, table};
use std::fmt::Write;

/// How many operations of a node are shown; JSON has all.
const OPERATIONS: usize = 10;
/// How many nodes are shown.
const NODES: usize = 30;

/// The whole text.
pub(crate) fn text(report: &Report) -> String {
    let mut text: String = report.networks.iter().map(network).collect::<Vec<_>>().join("\n");
    if !report.ignored.is_empty() {
        let _ = writeln!(text, "\nNot planned: {}", line(&some(&report.ignored, 10)));
    }
    text + &gaps_text(&report.not_read)
}

fn network(change: &NetworkChange) -> String {
    let state = match (&change.rejected, change.is_new, change.is_empty()) {
        (Some(_), _, _) => "would be rejected",
        (None, true, _) => "is new",
        (None, false, true) => "does not change",
        (None, false, false) => "changes",
    };
    let mut text = format!("UserspaceNetwork {} {state}\n", line(&change.name));
    if let Some(rejected) = &change.rejected {
        let _ = writeln!(text, "  {}", line(rejected));
    }
    let width = change.fields.iter().map(|field| field.field.len()).max().unwrap_or_default();
    for field in change.fields.iter().filter(|_| !change.is_new) {
        let value = |value: &Option<String>| value.as_deref().map_or_else(|| "none".to_owned(), line);
        let _ = writeln!(text, "  {:width$}  {} -> {}", field.field, value(&field.from), value(&field.to));
    }
    nodes(&mut text, &change.nodes);
    let lists =
        [("get a definition", &change.definitions_added), ("lose their definition", &change.definitions_removed)];
    for (what, namespaces) in lists.into_iter().filter(|(_, namespaces)| !namespaces.is_empty()) {
        let _ = writeln!(text, "  {} {what}: {}", count(namespaces.len(), "namespace"), some(namespaces, 10));
    }
    if !change.for_new_pods.is_empty() {
        let _ = writeln!(text, "  Running pods keep what they have of {}", change.for_new_pods.join(", "));
    }
    for effect in &change.traffic {
        let _ = writeln!(text, "  Traffic: {effect}");
    }
    text
}

fn nodes(text: &mut String, nodes: &[NodeChange]) {
    if nodes.is_empty() {
        return;
    }
    let row = |node: &NodeChange| {
        let effect = match node.effect {
            Effect::Added => "gets it",
            Effect::Changed => "changes",
            Effect::Removed => "removes it",
            Effect::Drains => "drains",
        };
        let pods = match (node.pods.is_empty(), node.unknown) {
            (true, 0) => String::new(),
            (false, 0) => some(&node.pods, 3),
            (true, unknown) => format!("{unknown} not known by name"),
            (false, unknown) => format!("{} and {unknown} not known by name", some(&node.pods, 3)),
        };
        [
            node.node.clone(),
            effect.to_owned(),
            node.operations.len().to_string(),
            pods,
            line(node.problem.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<_> = nodes.iter().take(NODES).map(row).collect();
    text.extend(
        table(["NODE", "EFFECT", "OPERATIONS", "PODS", "PROBLEM"], &rows).lines().map(|line| format!("  {line}\n")),
    );
    if nodes.len() > NODES {
        let _ = writeln!(text, "  and {} more nodes: use -o json", nodes.len() - NODES);
    }
    // Most nodes do the same.
    let mut shown: Vec<&Vec<String>> = Vec::new();
    for node in nodes.iter().take(NODES).filter(|node| !node.operations.is_empty()) {
        if shown.contains(&&node.operations) {
            continue;
        }
        shown.push(&node.operations);
        let _ = writeln!(text, "  On {}:", node.node);
        for operation in node.operations.iter().take(OPERATIONS) {
            let _ = writeln!(text, "    {}", line(operation));
        }
        if node.operations.len() > OPERATIONS {
            let _ = writeln!(text, "    and {} more", node.operations.len() - OPERATIONS);
        }
    }
}
