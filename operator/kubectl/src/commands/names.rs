//! Finds objects by name, and suggests similar names.

use crate::error::Error;
use crate::model::{Engine, Snapshot};
use std::collections::BTreeMap;

/// Checks that a network exists; the error suggests a similar name.
pub(crate) fn find_network(snapshot: &Snapshot, name: &str) -> Result<(), Error> {
    if snapshot.cache.networks.contains_key(name) {
        return Ok(());
    }
    let names = snapshot.cache.networks.keys().map(String::as_str);
    let suggestion = match nearest(name, names) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => ": kubectl get usn".to_owned(),
    };
    Err(Error::NotFound { kind: "UserspaceNetwork", name: name.to_owned(), suggestion })
}

/// Checks that a UserspaceEngine exists; the error suggests a similar name.
pub(crate) fn find_engine<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a Engine, Error> {
    snapshot.engines.get(name).ok_or_else(|| {
        let suggestion = match nearest(name, snapshot.engines.keys().map(String::as_str)) {
            Some(nearest) => format!("; did you mean {nearest}?"),
            None => ": kubectl get usne".to_owned(),
        };
        Error::NotFound { kind: "UserspaceEngine", name: name.to_owned(), suggestion }
    })
}

/// Checks that a node exists; the error suggests a similar name.
pub(crate) fn find_node<T>(nodes: &BTreeMap<String, T>, name: &str) -> Result<(), Error> {
    if nodes.contains_key(name) {
        return Ok(());
    }
    let suggestion = match nearest(name, nodes.keys().map(String::as_str)) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => ": kubectl get nodes".to_owned(),
    };
    Err(Error::NotFound { kind: "node", name: name.to_owned(), suggestion })
}

/// Returns the most similar name, whose [`distance`] is at most 2.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|other| (distance(name, other), other)).filter(|(distance, _)| *distance <= 2);
    near.filter(|(distance, _)| *distance < name.chars().count()).min().map(|(_, other)| other)
}

/// Returns the Levenshtein distance of two names.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut next = vec![index + 1];
        for (column, second) in other.iter().enumerate() {
            let [above, diagonal] =
                [row.get(column + 1), row.get(column)].map(|cell| cell.copied().unwrap_or_default());
            let left = next.last().copied().unwrap_or_default();
            next.push((diagonal + usize::from(letter != *second)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested() {
        let names = || ["blue", "green", "storage"].into_iter();
        assert_eq!(nearest("bleu", names()), Some("blue"));
        assert_eq!(nearest("storag", names()), Some("storage"));
        assert_eq!(nearest("red", names()), None);
        assert_eq!(nearest("x", ["y"].into_iter()), None, "no letter is the same");
    }
}
