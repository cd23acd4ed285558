//! Watching tables: `monitor_cond_since` and its `update3` (ovsdb-server(7) §4.1.12 to 4.1.14).
//!
//! The method can resume after a lost connection. A standalone database, as that of Open vSwitch,
//! always answers `found: false` and sends everything, so that resuming is never requested.

use crate::schema::Table;
use crate::value::{ParseError, Row, Uuid, row_from_json};
use serde_json::{Map, Value as Json, json};

/// The method of the request for a monitor.
pub const METHOD: &str = "monitor_cond_since";
/// The method of the notifications that follow.
pub const UPDATE_METHOD: &str = "update3";
/// The server drops the monitor, for example because the schema was changed.
pub const CANCELED_METHOD: &str = "monitor_canceled";

/// This transaction id means "no transaction seen yet".
const NO_TRANSACTION: &str = "00000000-0000-0000-0000-000000000000";
/// The id of the monitor in notifications. A connection has one monitor, so that any id works.
const MONITOR_ID: &str = "usnet";

#[derive(Debug, Clone, PartialEq)]
pub struct RowUpdate {
    pub table: String,
    pub uuid: Uuid,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The row is part of the initial dump, or new. Columns with their default are omitted.
    Insert(Row),
    /// Columns have changed. A single one has its new value, a set or map the difference.
    Modify(Row),
    Delete,
}

/// Returns the parameters of the request.
#[must_use]
pub fn request(database: &str, tables: &[&Table]) -> Json {
    let watched = |table: &&Table| {
        let columns: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        (table.name.to_owned(), json!([{"columns": columns}]))
    };
    let tables: Map<String, Json> = tables.iter().map(watched).collect();
    json!([database, MONITOR_ID, tables, NO_TRANSACTION])
}

/// Parses the answer to the request: `[found, last transaction, rows]`.
pub fn parse_reply(json: &Json) -> Result<Vec<RowUpdate>, ParseError> {
    match json.as_array().map(Vec::as_slice) {
        Some([Json::Bool(_), _last_transaction, tables]) => parse_tables(tables),
        _ => Err(ParseError::new("the answer to monitor_cond_since", json)),
    }
}

/// Parses the parameters of `update3`: `[monitor, last transaction, rows]`.
pub fn parse_update(params: &Json) -> Result<Vec<RowUpdate>, ParseError> {
    match params.as_array().map(Vec::as_slice) {
        Some([_monitor, _last_transaction, tables]) => parse_tables(tables),
        _ => Err(ParseError::new("the parameters of update3", params)),
    }
}

fn parse_tables(json: &Json) -> Result<Vec<RowUpdate>, ParseError> {
    let mut updates = Vec::new();
    for (table, rows) in json.as_object().ok_or_else(|| ParseError::new("tables", json))? {
        for (uuid, change) in rows.as_object().ok_or_else(|| ParseError::new("rows", rows))? {
            let uuid = uuid.parse()?;
            updates.push(RowUpdate { table: table.clone(), uuid, change: parse_change(change)? });
        }
    }
    Ok(updates)
}

fn parse_change(json: &Json) -> Result<Change, ParseError> {
    let unexpected = || ParseError::new("initial, insert, modify or delete", json);
    let mut members = json.as_object().ok_or_else(unexpected)?.iter();
    match members.next().map(|(kind, row)| (kind.as_str(), row)) {
        Some(("initial" | "insert", row)) => row_from_json(row).map(Change::Insert),
        Some(("modify", row)) => row_from_json(row).map(Change::Modify),
        Some(("delete", _)) => Ok(Change::Delete),
        _ => Err(unexpected()),
    }
}
