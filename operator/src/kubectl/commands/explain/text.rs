//! An explanation, for users.

use super::finding::{Finding, Report, Severity};
use crate::kubectl::commands::shared::gaps_text;
use crate::kubectl::output::{line, table};
use std::fmt::Write;

/// How many parts are shown; JSON has all.
const SHOWN: usize = 30;

/// The whole text.
pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("{}: {}\n", line(&report.subject), line(&report.state));
    let parts = &report.parts;
    if !parts.rows.is_empty() {
        let rows: Vec<_> = parts.rows.iter().take(SHOWN).map(|row| row.each_ref().map(|cell| line(cell))).collect();
        let _ = write!(text, "\n{}", table(parts.heads, &rows));
        if parts.rows.len() > SHOWN {
            let _ = writeln!(text, "and {} more: use -o json", parts.rows.len() - SHOWN);
        }
    }
    if report.findings.is_empty() {
        text.push_str("\nNo cause of a problem was found.\n");
    }
    for Finding { cause, severity, subject, why, remedy } in &report.findings {
        let warning = if *severity == Severity::Warning { "Warning " } else { "" };
        let subject = if subject.is_empty() { String::new() } else { format!(" of {}", line(subject)) };
        let _ = write!(text, "\n{warning}{cause}{subject}\n  Why: {}\n  Do:  {}\n", line(why), line(remedy));
    }
    text + &gaps_text(&report.not_read)
}
