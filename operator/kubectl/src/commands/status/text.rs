//! The state of all of usnet as text.

use super::problems::Problem;
use super::report::{Engine, NotConnected, Report};
use crate::commands::shared::{join_first, unread_text};
use crate::output::{count, line, table};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use usnet_crds::conditions::reason::NO_MEMORY;

/// The maximum number of rows of each list in the text, which fits on a screen; JSON has all.
const ROWS_MAX: usize = 10;
/// More interfaces of a network than this with the same problem are one row.
const ALONE_MAX: usize = 3;

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
    let policies = report
        .policies
        .iter()
        .map(|found| ["Policies".to_owned(), format!("{} of {} controllers ready", found.ready, found.total)]);
    let rows = rows.into_iter().chain(policies);
    let mut text: String = rows.map(|[name, value]| format!("{name:<12} {value}\n")).collect();
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
        // The message is about the first of these nodes.
        let first = problem.nodes.first().filter(|_| problem.nodes.len() > 1);
        let first = first.map(|node| format!("{node}: ")).unwrap_or_default();
        format!("{}\n  {}\n", line(&problem.headline()), line(&format!("{first}{}", problem.message)))
    };
    section(text, title, &problems.iter().take(ROWS_MAX).map(row).collect::<String>(), problems.len());
}

fn not_connected(text: &mut String, entries: &[NotConnected]) {
    // What an engine has no memory for is among its problems.
    let entries: Vec<&NotConnected> = entries.iter().filter(|entry| entry.reason != NO_MEMORY).collect();
    if entries.is_empty() {
        return;
    }
    let rows = grouped(&entries);
    let title =
        if entries.iter().all(|entry| entry.is_unconnected()) { "NOT CONNECTED" } else { "INTERFACES WITH A PROBLEM" };
    let shown = rows.get(..ROWS_MAX).unwrap_or(&rows);
    section(text, title, &table(["POD", "INTERFACE", "NETWORK", "NODE", "MESSAGE"], shown), rows.len());
}

/// The interfaces as rows: one for each, or one for many of a network with the same problem.
fn grouped(entries: &[&NotConnected]) -> Vec<[String; 5]> {
    let mut groups: BTreeMap<(&str, &str), Vec<&NotConnected>> = BTreeMap::new();
    for entry in entries {
        groups.entry((&entry.network, &entry.reason)).or_default().push(entry);
    }
    let rows = |group: Vec<&NotConnected>| match group.as_slice() {
        [first, rest @ ..] if rest.len() >= ALONE_MAX => {
            let nodes: BTreeSet<&str> = group.iter().map(|entry| entry.node.as_str()).collect();
            let pods = format!("{} and {} more", line(&first.pod), rest.len());
            let node = if nodes.len() == 1 { line(&first.node) } else { count(nodes.len(), "node") };
            vec![[pods, line(&first.interface), line(&first.network), node, line(&first.message)]]
        }
        group => group
            .iter()
            .map(|it| [&it.pod, &it.interface, &it.network, &it.node, &it.message].map(|text| line(text)))
            .collect(),
    };
    groups.into_values().flat_map(rows).collect()
}

fn section(text: &mut String, title: &str, lines: &str, total: usize) {
    let _ = write!(text, "\n{title}\n{}", indented(lines));
    if total > ROWS_MAX {
        let _ = writeln!(text, "  and {} more: use -o json", total - ROWS_MAX);
    }
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}
