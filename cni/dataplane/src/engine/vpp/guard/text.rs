//! The text of a guard, as sessions of a table.

use super::kind::{Kind, MARK};
use super::layout::REACH;
use super::{Session, Table, Verdict};
use std::collections::BTreeMap;

/// A table that has the text in parts, by their numbers. A frame that begins with a part of it is
/// dropped.
pub(super) fn table(text: &str) -> Table {
    let parts = text.as_bytes().chunks(REACH).zip(MARK..);
    let session = |(part, number): (&[u8], u32)| {
        let mut matched = part.to_vec();
        matched.resize(REACH, 0);
        Session { matched, verdict: Verdict::Drop, number }
    };
    Table::new(Kind::Text, parts.map(session))
}

/// The text in the sessions of such a table.
pub(super) fn read<'a>(sessions: impl IntoIterator<Item = &'a Session>) -> Option<String> {
    let parts: BTreeMap<u32, &[u8]> =
        sessions.into_iter().map(|session| (session.number, session.matched.as_slice())).collect();
    let bytes: Vec<u8> = parts.into_values().flatten().copied().filter(|byte| *byte != 0).collect();
    String::from_utf8(bytes).ok()
}
