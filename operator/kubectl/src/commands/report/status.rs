//! The part of the page with the state of usnet: four numbers, and the problems.

use super::causes::{Cause, Urgency, causes};
use crate::commands::status::report::{Count, Report};
use crate::html::{Section, escape};
use std::fmt::Write;

/// Returns the numbers, and the table of problems if there are any.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let causes = causes(report);
    let numbers = Section { title: "Status", note: String::new(), html: tiles(report, causes.len()) };
    let problems = Section { title: "Problems", note: "by cause".to_owned(), html: problems(&causes) };
    [Some(numbers), (!causes.is_empty()).then_some(problems)].into_iter().flatten().collect()
}

fn tiles(report: &Report, causes: usize) -> String {
    let Count { ready: running, total: engines } = engines(report);
    let interfaces = &report.interfaces;
    let mut html = "<div class=\"tiles\">\n".to_owned();
    tile(&mut html, (&report.networks.ready, &report.networks.total), "networks ready");
    tile(&mut html, (&running, &engines), "engines up");
    tile(&mut html, (&interfaces.connected, &interfaces.attached), "interfaces with a connected program");
    let class = if causes == 0 { "tile" } else { "tile bad" };
    let _ = writeln!(html, "<div class=\"{class}\"><b>{causes}</b><span>problems, by cause</span></div>\n</div>");
    let count = |Count { ready, total }: &Count| format!("{ready} of {total}");
    let engines: Vec<_> = report.engines.iter().flat_map(versions).collect();
    let _ = writeln!(
        html,
        "<p class=\"facts\">Nodes ready: {}. Controllers: {}. Agents: {}. Engines: {}. Networks in progress: {}.</p>",
        count(&report.nodes),
        count(&report.controllers),
        count(&report.agents),
        if engines.is_empty() { "none".to_owned() } else { escape(&engines.join(", ")) },
        report.networks.reconciling,
    );
    html
}

fn versions(engine: &crate::commands::status::report::Engine) -> Vec<String> {
    let version = |(version, nodes): (&String, &usize)| format!("{} {version} on {nodes}", engine.engine);
    engine.versions.iter().map(version).collect()
}

fn engines(report: &Report) -> Count {
    let ready = report.engines.iter().flat_map(|engine| engine.versions.values()).sum();
    let lost: usize = report.engines.iter().map(|engine| engine.lost.len()).sum();
    Count { ready, total: ready + lost }
}

fn tile<N: PartialEq + std::fmt::Display>(html: &mut String, (good, all): (&N, &N), meaning: &str) {
    let class = if good == all { "tile" } else { "tile bad" };
    let _ = writeln!(html, "<div class=\"{class}\"><b>{good} <small>of {all}</small></b><span>{meaning}</span></div>");
}

fn problems(causes: &[Cause]) -> String {
    let mut html = "<div class=\"scroll\"><table class=\"searched\">\n<thead><tr><th>Kind</th><th>Subject</th>\
                    <th>Reason</th><th>Where</th><th>Message</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for Cause { subject, reason, places, message, urgency } in causes {
        let (class, kind) = match urgency {
            Urgency::NeedsAction => ("bad-text", "needs action"),
            Urgency::NotConnected => ("bad-text", "not connected"),
            Urgency::Recovers => ("warn-text", "recovers"),
        };
        let _ = writeln!(
            html,
            "<tr><td class=\"kind {class}\">{kind}</td><td class=\"name\">{}</td><td class=\"name\">{}</td>\
             <td class=\"mono\">{}</td><td>{}</td></tr>",
            escape(subject),
            escape(reason),
            escape(places),
            escape(message),
        );
    }
    html + "</tbody></table></div>\n"
}
