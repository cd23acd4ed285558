//! Parsing of an answer into interfaces. It copies only the requested values.

use super::InterfaceStatistics;
use crate::reply::DatabaseError;
use crate::transact;
use crate::wire::{Message, WireError};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A message of the server.
pub(super) enum Answer {
    Interfaces(Vec<InterfaceStatistics>),
    /// An error, or an answer of another form.
    Other(transact::Answer),
    /// A request of the server.
    Request,
}

/// The answer to a transaction with one operation.
#[derive(Deserialize)]
struct Members<'answer> {
    #[serde(borrow)]
    result: [Selected<'answer>; 1],
}

#[derive(Deserialize)]
struct Selected<'answer> {
    #[serde(borrow)]
    rows: Vec<InterfaceRow<'answer>>,
}

#[derive(Deserialize)]
struct InterfaceRow<'answer> {
    name: String,
    #[serde(rename = "type")]
    interface_type: String,
    #[serde(borrow)]
    status: Map<'answer, Text<'answer>>,
    #[serde(borrow)]
    statistics: Map<'answer, i64>,
}

/// A text, which is copied only if it has an escape.
#[derive(Deserialize)]
struct Text<'answer>(#[serde(borrow)] Cow<'answer, str>);

/// A map: the word `map`, and its pairs.
#[derive(Deserialize)]
struct Map<'answer, V>(MapTag, #[serde(borrow)] Vec<(Text<'answer>, V)>);

#[derive(Deserialize)]
enum MapTag {
    #[serde(rename = "map")]
    Map,
}

pub(super) fn parse(message: &[u8], is_wanted: fn(&str) -> bool) -> Result<Answer, WireError> {
    if let Ok(Members { result: [Selected { rows }] }) = serde_json::from_slice(message) {
        return Ok(Answer::Interfaces(rows.into_iter().map(|row| interface(row, is_wanted)).collect()));
    }
    Ok(match Message::parse(message)? {
        Message::Request { .. } => Answer::Request,
        Message::Response { result, error, .. } if error.is_null() => Answer::Other(Ok(result)),
        Message::Response { error, .. } => Answer::Other(Err(DatabaseError::from_rpc(&error))),
    })
}

fn interface(row: InterfaceRow<'_>, is_wanted: fn(&str) -> bool) -> InterfaceStatistics {
    InterfaceStatistics {
        name: row.name,
        interface_type: row.interface_type,
        status: wanted(row.status, is_wanted, |Text(value)| Some(value.into_owned())),
        // A negative counter means that the switch does not have it.
        statistics: wanted(row.statistics, is_wanted, |value| u64::try_from(value).ok()),
    }
}

fn wanted<V, T>(
    Map(MapTag::Map, pairs): Map<'_, V>,
    is_wanted: fn(&str) -> bool,
    convert: impl Fn(V) -> Option<T>,
) -> BTreeMap<String, T> {
    let pairs = pairs.into_iter().filter(|(Text(key), _)| is_wanted(key));
    pairs.filter_map(|(Text(key), value)| Some((key.into_owned(), convert(value)?))).collect()
}
