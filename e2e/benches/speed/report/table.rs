//! A Markdown table.

use super::statistics::{median, milliseconds, percentile};
use std::time::Duration;

/// What a cell without a value shows.
pub(crate) const NONE: &str = "–";

/// Prints a table with a heading.
pub(crate) fn print(heading: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("\n### {heading}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// The median in milliseconds.
pub(crate) fn p50(durations: &[Duration]) -> String {
    if durations.is_empty() { NONE.to_owned() } else { number(milliseconds(median(durations))) }
}

/// The 99th percentile in milliseconds.
pub(crate) fn p99(durations: &[Duration]) -> String {
    if durations.is_empty() { NONE.to_owned() } else { number(milliseconds(percentile(durations, 99))) }
}

/// What this part of several does not exceed, in percent, in milliseconds.
pub(crate) fn share(durations: &[Duration], percent: usize) -> String {
    if durations.is_empty() { NONE.to_owned() } else { number(milliseconds(percentile(durations, percent))) }
}

/// As many digits as mean something.
pub(crate) fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A ratio.
pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.2}")
}
