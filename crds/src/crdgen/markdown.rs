//! Tables in Markdown, and generated parts of pages, each between two comments.

const END: &str = "<!-- end -->\n";

/// A page has no place for a generated part.
#[derive(Debug, thiserror::Error)]
#[error("the page has no {0:?} with {END:?} after it")]
pub struct NoPlace(String);

/// A page with a generated part made again.
pub(super) fn replaced(page: &str, what: &str, text: &str) -> Result<String, NoPlace> {
    let start = format!("<!-- {what} -->\n");
    let found = page.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = found.ok_or_else(|| NoPlace(start.clone()))?;
    Ok(format!("{before}{start}{text}\n{END}{after}"))
}

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
