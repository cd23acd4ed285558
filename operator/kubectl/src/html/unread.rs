//! What could not be read, in a page.

use super::{Section, escape};
use crate::model::Unread;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum number of names for each reason.
const NAMES_MAX: usize = 5;

/// Returns the section that lists what could not be read; `None` if everything was.
pub(crate) fn unread_section(unread: &[Unread]) -> Option<Section> {
    // Of a large cluster many nodes have the same reason.
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in unread {
        reasons.entry(&entry.why).or_default().push(&entry.what);
    }
    let mut html = "<p>The page may be incomplete without it.</p>\n<ul>\n".to_owned();
    for (why, names) in &reasons {
        let first: Vec<_> = names.iter().take(NAMES_MAX).map(|name| escape(name)).collect();
        let more = names.len().saturating_sub(NAMES_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let _ = writeln!(html, "<li>{}{more}: {}</li>", first.join(", "), escape(why));
    }
    html.push_str("</ul>\n");
    (!unread.is_empty()).then_some(Section { title: "NOT READ", note: String::new(), html })
}
