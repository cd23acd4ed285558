//! Tables that fit a terminal. Pure.
//!
//! A table that is too wide gets its longest texts wrapped. If that is not enough, its rows are
//! continued on lines of their own, so that no column is broken by the terminal.

use super::screen::{Screen, Tone};
use super::wrap::{NARROWEST, words};
use console::measure_text_width;

/// The space between columns.
const GAP: usize = 2;
/// The indentation of lines that continue a row.
const INDENT: usize = 4;
/// What the indentation of a section adds to a table.
const SECTION: usize = 2;
/// The columns whose cells are states.
const STATES: [&str; 6] = ["STATE", "STATUS", "PROGRAM", "CONNECTED", "RESULT", "EFFECT"];

/// Returns a table as kubectl prints it, made for the current screen.
pub(crate) fn table<const COLUMNS: usize>(heads: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    Table { heads: &heads, rows: rows.iter().map(|row| row.as_slice()).collect(), numbers: &[] }.text(Screen::current())
}

/// Like [`table`], with the columns of numbers aligned at their ends.
pub(crate) fn table_of_numbers<const COLUMNS: usize>(
    heads: [&str; COLUMNS],
    numbers: &[usize],
    rows: &[[String; COLUMNS]],
) -> String {
    Table { heads: &heads, rows: rows.iter().map(|row| row.as_slice()).collect(), numbers }.text(Screen::current())
}

struct Table<'a> {
    heads: &'a [&'a str],
    rows: Vec<&'a [String]>,
    /// The columns that are numbers.
    numbers: &'a [usize],
}

impl Table<'_> {
    fn text(&self, screen: Screen) -> String {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| measure_text_width(head)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(*row) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        let columns = screen.width.map_or(usize::MAX, |columns| columns.saturating_sub(SECTION));
        shrink(&mut widths, self.heads, columns);
        let groups = groups(&widths, columns);
        let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
        let mut text = String::new();
        for (index, row) in std::iter::once(heads.as_slice()).chain(self.rows.iter().copied()).enumerate() {
            for group in &groups {
                text.push_str(&self.lines(row, &widths, group.clone(), (index > 0).then_some(screen)));
            }
        }
        text
    }

    /// Returns the lines of some columns of a row; `screen` is `None` for the heads.
    fn lines(
        &self,
        row: &[String],
        widths: &[usize],
        columns: std::ops::Range<usize>,
        screen: Option<Screen>,
    ) -> String {
        let mut text = String::new();
        let indent = if columns.start == 0 { 0 } else { INDENT };
        let cells: Vec<Vec<String>> = row.iter().zip(widths).map(|(cell, width)| words(cell, *width)).collect();
        let height = columns.clone().filter_map(|column| cells.get(column)).map(Vec::len).max().unwrap_or_default();
        for number in 0..height {
            let mut line = " ".repeat(indent);
            for column in columns.clone() {
                let (Some(cell), Some(width)) = (cells.get(column), widths.get(column)) else { continue };
                let part = cell.get(number).map(String::as_str).unwrap_or_default();
                let space = " ".repeat(width.saturating_sub(measure_text_width(part)));
                let is_state = self.heads.get(column).is_some_and(|head| STATES.contains(head));
                let tone = row.get(column).filter(|_| is_state).and_then(|cell| Tone::of_state(cell));
                let painted = screen.unwrap_or_default().paint(part, tone);
                let (before, after) =
                    if self.numbers.contains(&column) { (space.as_str(), "") } else { ("", space.as_str()) };
                line.extend([before, &painted, after]);
                line.push_str(&" ".repeat(GAP));
            }
            // Columns that continue a row may be empty.
            if indent == 0 || !line.trim().is_empty() {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text
    }
}

/// Makes the widest columns narrower until the table fits, or none can be.
fn shrink(widths: &mut [usize], heads: &[&str], columns: usize) {
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let excess = total.saturating_sub(columns);
        let can_shrink = |(column, width): &(usize, &mut usize)| {
            **width > NARROWEST.max(heads.get(*column).map_or(0, |head| head.len()))
        };
        let widest = widths.iter_mut().enumerate().filter(can_shrink).max_by_key(|(_, width)| **width);
        match widest {
            Some((_, width)) if excess > 0 => *width -= 1,
            _ => return,
        }
    }
}

/// Returns the columns of each line of a row.
fn groups(widths: &[usize], columns: usize) -> Vec<std::ops::Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (column, width) in widths.iter().enumerate() {
        if column > start && used + width > columns {
            groups.push(start..column);
            (start, used) = (column, INDENT);
        }
        used += width + GAP;
    }
    groups.push(start..widths.len());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<[String; 3]> {
        vec![
            ["blue".to_owned(), "Failed".to_owned(), "bridge br-blue exists and is not owned by usnet".to_owned()],
            ["green".to_owned(), "Ready".to_owned(), String::new()],
        ]
    }

    fn text(width: Option<usize>, has_colors: bool) -> String {
        let rows = rows();
        let rows = rows.iter().map(|row| row.as_slice()).collect();
        Table { heads: &["NETWORK", "STATE", "MESSAGE"], rows, numbers: &[] }.text(Screen { width, has_colors })
    }

    #[test]
    fn a_pipe_gets_what_kubectl_prints() {
        let plain = "NETWORK  STATE   MESSAGE\nblue     Failed  bridge br-blue exists and is not owned by usnet\ngreen    Ready\n";
        assert_eq!(text(None, false), plain);
        assert_eq!(text(Some(100), false), plain);
        assert_eq!(usnet_common::display::table(["NETWORK", "STATE", "MESSAGE"], &rows()), plain);
    }

    #[test]
    fn a_message_is_wrapped_and_a_table_that_is_still_too_wide_is_folded() {
        assert_eq!(
            text(Some(46), false),
            "NETWORK  STATE   MESSAGE\nblue     Failed  bridge br-blue exists and\n                 is not owned by usnet\ngreen    Ready\n"
        );
        assert_eq!(
            text(Some(32), false),
            "NETWORK  STATE\n    MESSAGE\nblue     Failed\n    bridge br-blue exists\n    and is not owned by\n    usnet\ngreen    Ready\n"
        );
    }

    #[test]
    fn states_have_colors_and_numbers_end_below_each_other() {
        assert!(text(None, true).contains("blue     \u{1b}[31mFailed\u{1b}[0m  bridge"), "{:?}", text(None, true));
        let rows = [["a".to_owned(), "5/s".to_owned()], ["b".to_owned(), "12.5 k/s".to_owned()]];
        assert_eq!(table_of_numbers(["POD", "SENT"], &[1], &rows), "POD      SENT\na         5/s\nb    12.5 k/s\n");
    }
}
