//! An explanation as text.

use super::finding::{Finding, Report, Severity};
use crate::commands::shared::unread_text;
use crate::output::{VERBATIM, line, table, title};
use std::fmt::Write;
use usnet_crds::userspace_engine::preparation::Step;

/// The maximum number of parts in the text; JSON has all.
const ROWS_MAX: usize = 30;

pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("{}: {}\n", line(&report.subject), line(&report.state));
    for one in report.asks_for.iter().chain(&report.allowed) {
        let _ = writeln!(text, "  {}", line(one));
    }
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
    text + &preparation_text(&report.preparation) + &unread_text(&report.not_read)
}

/// Commands are printed as they are, so that they can be copied.
fn preparation_text(steps: &[Step]) -> String {
    let mut text = String::new();
    if !steps.is_empty() {
        let _ = writeln!(
            text,
            "\n{}",
            title("TO DO BY THE ADMINISTRATOR, as far as it is not done; usnet changes no node")
        );
    }
    for step in steps {
        let _ = writeln!(text, "  {}:", line(&step.title));
        for one in &step.lines {
            let _ = writeln!(text, "{VERBATIM}{}", line(one));
        }
    }
    text
}
