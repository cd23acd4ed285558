//! Tables in Markdown.

/// Adds a table, with Markdown characters escaped.
pub(super) fn table<const N: usize>(page: &mut String, head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    page.push('\n');
    page.push_str(&line(&head.map(ToOwned::to_owned)));
    page.push_str(&line(&head.map(|_| "---".to_owned())));
    for cells in rows {
        page.push_str(&line(&cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "))));
    }
}
