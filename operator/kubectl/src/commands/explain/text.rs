//! An explanation as text.

use super::finding::{Finding, Report, Severity};
use crate::commands::shared::unread_text;
use crate::output::{line, table};
use std::fmt::Write;

/// The maximum number of parts in the text; JSON has all.
const ROWS_MAX: usize = 30;

pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("{}: {}\n", line(&report.subject), line(&report.state));
    let parts = &report.parts;
    if !parts.rows.is_empty() {
        let rows: Vec<_> = parts.rows.iter().take(ROWS_MAX).map(|row| row.each_ref().map(|cell| line(cell))).collect();
        let _ = write!(text, "\n{}", table(parts.heads, &rows));
        if parts.rows.len() > ROWS_MAX {
            let _ = writeln!(text, "and {} more: use -o json", parts.rows.len() - ROWS_MAX);
        }
    }
    if report.findings.is_empty() {
        text.push_str("\nNo problem was found.\n");
    }
    for Finding { cause, severity, subject, why, remedy } in &report.findings {
        let warning = if *severity == Severity::Warning { "Warning " } else { "" };
        let subject = if subject.is_empty() { String::new() } else { format!(" of {}", line(subject)) };
        let _ = write!(text, "\n{warning}{cause}{subject}\n  Why: {}\n  Do:  {}\n", line(why), line(remedy));
    }
    text + &unread_text(&report.not_read)
}
