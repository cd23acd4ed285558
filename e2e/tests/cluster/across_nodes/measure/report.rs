//! Tables of the measurements in Markdown. Each row is printed at once; `make across` prints the
//! tables at its end, from the file that `USNET_ACROSS_REPORT` names.

use std::fmt::Write;
use std::fs;
use std::sync::{Mutex, PoisonError};

struct Table {
    title: &'static str,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

static TABLES: Mutex<Vec<Table>> = Mutex::new(Vec::new());

/// Adds a row to the table of that title.
pub(crate) fn row(title: &'static str, columns: &'static [&'static str], cells: Vec<String>) {
    println!("{title}: {}", line(cells.iter()));
    // Of tests that failed as well.
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    match tables.iter_mut().find(|table| table.title == title) {
        Some(table) => table.rows.push(cells),
        None => tables.push(Table { title, columns, rows: vec![cells] }),
    }
    if let Ok(path) = std::env::var("USNET_ACROSS_REPORT") {
        fs::write(path, markdown(&tables)).unwrap();
    }
}

fn markdown(tables: &[Table]) -> String {
    let mut text = String::new();
    for Table { title, columns, rows } in tables {
        let (head, rule) = (line(columns.iter()), line(columns.iter().map(|_| "---")));
        write!(text, "\n### {title}\n\n{head}\n{rule}\n").unwrap();
        rows.iter().for_each(|row| writeln!(text, "{}", line(row.iter())).unwrap());
    }
    text
}

fn line(cells: impl Iterator<Item = impl AsRef<str>>) -> String {
    cells.fold("|".to_owned(), |line, cell| format!("{line} {} |", cell.as_ref()))
}
