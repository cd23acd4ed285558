//! The state of all of usnet as text.

use super::report::{Engine, NotConnected, Problem, Report};
use crate::commands::shared::{join_first, unread_text};
use crate::output::{count, line, table};
use std::fmt::Write;

/// The maximum number of rows of each list in the text; JSON has all.
const ROWS_MAX: usize = 20;

pub(crate) fn text(report: &Report) -> String {
    let leader = report.leader.as_deref().map(|name| format!(", leader {}", line(name))).unwrap_or_default();
    let networks = &report.networks;
    let engines: Vec<_> = report.engines.iter().map(engine).collect();
    let engines = if engines.is_empty() { "none".to_owned() } else { engines.join("; ") };
    let (controllers, agents) = (&report.controllers, &report.agents);
    let interfaces = &report.interfaces;
    let rows = [
        ["Controllers".to_owned(), format!("{} of {} ready{leader}", controllers.ready, controllers.total)],
        ["Agents".to_owned(), format!("{} of {} ready", agents.ready, agents.total)],
        ["Nodes".to_owned(), format!("{} of {} ready", report.nodes.ready, report.nodes.total)],
        ["Engines".to_owned(), engines],
        [
            "Networks".to_owned(),
            format!(
                "{}: {} ready, {} in progress, {} stalled",
                networks.total, networks.ready, networks.reconciling, networks.stalled
            ),
        ],
        [
            "Interfaces".to_owned(),
            format!("{}, {} with a connected program", interfaces.attached, interfaces.connected),
        ],
    ];
    let mut text: String = rows.iter().map(|[name, value]| format!("{name:<12} {value}\n")).collect();
    problems(&mut text, "NEEDS ACTION", &report.needs_action);
    problems(&mut text, "RECOVERS WITHOUT ACTION", &report.recovers);
    not_connected(&mut text, &report.not_connected);
    if report.is_ok() {
        text.push_str("\nNothing is wrong.\n");
    }
    text + &unread_text(&report.not_read)
}

fn engine(engine: &Engine) -> String {
    let version = |(version, nodes): (&String, &usize)| {
        format!("{} {} on {}", engine.engine, line(version), count(*nodes, "node"))
    };
    let versions = engine.versions.iter().map(version);
    let lost = (!engine.lost.is_empty()).then(|| format!("{} lost on {}", engine.engine, join_first(&engine.lost, 5)));
    versions.chain(lost).collect::<Vec<_>>().join(", ")
}

fn problems(text: &mut String, title: &str, problems: &[Problem]) {
    if problems.is_empty() {
        return;
    }
    let row = |problem: &Problem| {
        let node = problem.node.clone().unwrap_or_default();
        [line(&problem.subject), line(&node), line(&problem.reason), line(&problem.message)]
    };
    let rows: Vec<_> = problems.iter().take(ROWS_MAX).map(row).collect();
    section(text, title, &table(["SUBJECT", "NODE", "REASON", "MESSAGE"], &rows), problems.len());
}

fn not_connected(text: &mut String, entries: &[NotConnected]) {
    if entries.is_empty() {
        return;
    }
    let row = |entry: &NotConnected| {
        [&entry.pod, &entry.interface, &entry.network, &entry.node, &entry.message].map(|text| line(text))
    };
    let rows: Vec<_> = entries.iter().take(ROWS_MAX).map(row).collect();
    let title =
        if entries.iter().all(NotConnected::is_unconnected) { "NOT CONNECTED" } else { "INTERFACES WITH A PROBLEM" };
    section(text, title, &table(["POD", "INTERFACE", "NETWORK", "NODE", "MESSAGE"], &rows), entries.len());
}

fn section(text: &mut String, title: &str, table: &str, total: usize) {
    let _ = write!(text, "\n{title}\n{}", indented(table));
    if total > ROWS_MAX {
        let _ = writeln!(text, "  and {} more: use -o json", total - ROWS_MAX);
    }
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("  {line}\n")).collect()
}
