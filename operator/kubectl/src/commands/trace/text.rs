//! The report as text.

use super::report::{Outcome, Report};
use crate::commands::shared::unread_text;
use crate::output::{line, table};
use std::fmt::Write;

pub(super) fn text(report: &Report) -> String {
    let over = report.network.as_ref().map(|network| format!(" over network {network}")).unwrap_or_default();
    let mut text = format!("{} to {}{over}\n\n", line(&report.from), line(&report.to));
    let rows: Vec<_> = report
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let outcome = match step.outcome {
                Outcome::Passed => "ok",
                Outcome::Failed => "FAILS",
                Outcome::Unknown => "unknown",
            };
            [(index + 1).to_string(), outcome.to_owned(), step.node.clone(), line(&step.what)]
        })
        .collect();
    text.push_str(&table(["#", "STATE", "NODE", "STEP"], &rows));
    let conclusion = &report.conclusion;
    let _infallible = write!(text, "\n{}\n  Why: {}\n", conclusion.cause, line(&conclusion.why));
    if !conclusion.remedy.is_empty() {
        let _infallible = writeln!(text, "  Do:  {}", line(&conclusion.remedy));
    }
    text + &unread_text(&report.not_read)
}
