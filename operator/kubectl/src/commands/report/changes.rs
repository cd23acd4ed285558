//! The part of the page with the latest changes on the nodes.

use crate::commands::history::{NodeChange, Report};
use crate::html::{Section, escape};
use crate::output::count;
use k8s_openapi::jiff::SignedDuration;
use std::fmt::Write;
use usnet_node_output::history::Outcome;

/// The maximum number of changes on the page, the latest.
const CHANGES_MAX: usize = 200;

pub(super) fn section(report: &Report, since: SignedDuration) -> Section {
    let note = format!("{} in the last {since:#}", count(report.changes.len(), "change"));
    if report.changes.is_empty() {
        let html = "<p class=\"soft\">No change was read.</p>\n".to_owned();
        return Section { title: "Changes", note, html };
    }
    let mut html = "<div class=\"scroll\"><table class=\"searched\">\n<thead><tr><th>Time (UTC)</th><th>Node</th>\
                    <th>Network</th><th>Operation</th><th>Why</th><th>Result</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for NodeChange { node, change } in report.changes.iter().rev().take(CHANGES_MAX) {
        let class = match change.outcome {
            Outcome::Done | Outcome::CompletedLater => "good-text",
            Outcome::Failed { .. } | Outcome::RolledBack { .. } => "bad-text",
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"name\">{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td><td>{}</td>\
             <td>{}</td><td class=\"{class}\">{}</td></tr>",
            change.time.0.strftime("%H:%M:%S"),
            escape(node),
            escape(change.network.as_deref().unwrap_or_default()),
            escape(&change.operation),
            escape(&change.cause.to_string()),
            escape(&change.outcome.to_string()),
        );
    }
    html.push_str("</tbody></table></div>\n");
    if report.changes.len() > CHANGES_MAX {
        let _ = writeln!(html, "<p class=\"soft\">The latest {CHANGES_MAX}; all: kubectl usnet history</p>");
    }
    Section { title: "Changes", note, html }
}
