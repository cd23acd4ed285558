//! A plan as text.

use super::nodes::{Effect, NodeChange};
use super::report::{NetworkChange, Report};
use crate::commands::shared::{join_first, unread_text};
use crate::output::{count, line, table};
use std::fmt::Write;

/// The maximum number of operations of a node in the text; JSON has all.
const OPERATIONS_MAX: usize = 10;
/// The maximum number of nodes in the text; JSON has all.
const NODES_MAX: usize = 30;

pub(crate) fn text(report: &Report) -> String {
    let mut text: String = report.networks.iter().map(network).collect::<Vec<_>>().join("\n");
    if !report.ignored.is_empty() {
        let _ = writeln!(text, "\nNot planned: {}", line(&join_first(&report.ignored, 10)));
    }
    text + &unread_text(&report.not_read)
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
    let lists = [("created", &change.definitions_added), ("deleted", &change.definitions_removed)];
    for (what, namespaces) in lists.into_iter().filter(|(_, namespaces)| !namespaces.is_empty()) {
        let _ = writeln!(
            text,
            "  Definitions {what} in {}: {}",
            count(namespaces.len(), "namespace"),
            join_first(namespaces, 10)
        );
    }
    if !change.for_new_pods.is_empty() {
        let _ = writeln!(text, "  Running pods keep the old {}", change.for_new_pods.join(", "));
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
            Effect::Added => "is added",
            Effect::Changed => "changes",
            Effect::Removed => "is removed",
            Effect::Drains => "drains",
        };
        let pods = match (node.pods.is_empty(), node.unknown) {
            (true, 0) => String::new(),
            (false, 0) => join_first(&node.pods, 3),
            (true, unknown) => format!("{unknown} not known by name"),
            (false, unknown) => format!("{} and {unknown} not known by name", join_first(&node.pods, 3)),
        };
        [
            node.node.clone(),
            effect.to_owned(),
            node.operations.len().to_string(),
            pods,
            line(node.problem.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<_> = nodes.iter().take(NODES_MAX).map(row).collect();
    text.extend(
        table(["NODE", "EFFECT", "OPERATIONS", "PODS", "PROBLEM"], &rows).lines().map(|line| format!("  {line}\n")),
    );
    if nodes.len() > NODES_MAX {
        let _ = writeln!(text, "  and {} more nodes: use -o json", nodes.len() - NODES_MAX);
    }
    // Most nodes have the same operations, which are shown once.
    let mut shown: Vec<&Vec<String>> = Vec::new();
    for node in nodes.iter().take(NODES_MAX).filter(|node| !node.changes.is_empty()) {
        if shown.contains(&&node.changes) {
            continue;
        }
        shown.push(&node.changes);
        let _ = writeln!(text, "  On {}:", node.node);
        for operation in node.changes.iter().take(OPERATIONS_MAX) {
            let _ = writeln!(text, "    {}", line(operation));
        }
        if node.changes.len() > OPERATIONS_MAX {
            let _ = writeln!(text, "    and {} more", node.changes.len() - OPERATIONS_MAX);
        }
    }
}
