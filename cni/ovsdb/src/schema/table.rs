//! Tables, their columns, and typed rows.

use crate::value::{ColumnKind, FromValue, Row, Uuid};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
}

/// A row of a table as a Rust type.
pub trait TableRow: Sized {
    /// The table, with the columns of the type.
    const TABLE: Table;

    fn from_row(uuid: Uuid, row: &Row) -> Result<Self, SchemaError>;
}

/// The database has another schema than this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A column has another type.
    #[error("column {column} of {table} row {uuid} should be {expected} and is {found}")]
    Column {
        table: &'static str,
        uuid: Uuid,
        column: &'static str,
        expected: &'static str,
        /// The value as JSON.
        found: String,
    },
    /// A row has no `_uuid`, because the select did not request it.
    #[error("a row of {table} has no _uuid; select it as well")]
    NoUuid { table: &'static str },
}

pub(crate) fn column<T: FromValue>(
    table: &'static str,
    uuid: Uuid,
    row: &Row,
    column: &'static str,
) -> Result<T, SchemaError> {
    // The database omits columns that have their default.
    let Some(value) = row.get(column) else { return Ok(T::default()) };
    T::from_value(value).ok_or_else(|| SchemaError::Column {
        table,
        uuid,
        column,
        expected: T::EXPECTED,
        found: serde_json::to_string(value).unwrap_or_default(),
    })
}

pub(crate) fn uuid(table: &'static str, row: &Row) -> Result<Uuid, SchemaError> {
    let uuid = row.get("_uuid").and_then(Option::<Uuid>::from_value).flatten();
    uuid.ok_or(SchemaError::NoUuid { table })
}
