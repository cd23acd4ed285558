//! What was measured, as a table in Markdown.

use std::fmt::Write as _;
use std::time::Duration;

/// The figures of one engine, over all rounds.
#[derive(Default)]
pub(super) struct Figures {
    rows: Vec<(String, Vec<String>)>,
}

impl Figures {
    /// Adds what a round has measured under that title, and prints it.
    pub(super) fn add(&mut self, title: &str, figure: String) {
        println!("{title}: {figure}");
        match self.rows.iter_mut().find(|(known, _)| known == title) {
            Some((_, figures)) => figures.push(figure),
            None => self.rows.push((title.to_owned(), vec![figure])),
        }
    }

    /// Prints the table.
    pub(super) fn print(&self, of: &str) {
        let mut text = format!("\n| virtual machines on {of} | figures, one for each round |\n|---|---|\n");
        for (title, figures) in &self.rows {
            writeln!(text, "| {title} | {} |", figures.join("; ")).unwrap();
        }
        println!("{text}");
    }
}

/// Returns the row of the table.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
