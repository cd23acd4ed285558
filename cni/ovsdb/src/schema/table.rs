//! Tables, their columns, and rows with a type.

use crate::value::{ColumnKind, FromValue, Row, Uuid};

/// A table with the columns that usnet reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name in the schema.
    pub name: &'static str,
    /// The columns that usnet reads.
    pub columns: &'static [Column],
}

/// A column that usnet reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in the schema.
    pub name: &'static str,
    /// How many elements it may have.
    pub kind: ColumnKind,
}

/// A row of a table as a Rust type.
pub trait TableRow: Sized {
    /// The table, with the columns that the type has.
    const TABLE: Table;

    /// Reads the row.
    ///
    /// # Errors
    /// When a column does not have the type that it should have.
    fn from_row(uuid: Uuid, row: &Row) -> Result<Self, SchemaError>;
}

/// A column does not have the expected type: the database has another schema than this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A column has another type.
    #[error("column {column} of {table} row {uuid} should be {expected} and is {found}")]
    Column {
        /// The table.
        table: &'static str,
        /// The row.
        uuid: Uuid,
        /// The column.
        column: &'static str,
        /// The expected type.
        expected: &'static str,
        /// What it holds, as JSON.
        found: String,
    },
    /// A row without `_uuid`: the select did not request it.
    #[error("a row of {table} has no _uuid; select it as well")]
    NoUuid {
        /// The table.
        table: &'static str,
    },
}

/// Reads one column of a row.
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

/// Reads `_uuid` of a selected row.
pub(crate) fn uuid(table: &'static str, row: &Row) -> Result<Uuid, SchemaError> {
    let uuid = row.get("_uuid").and_then(Option::<Uuid>::from_value).flatten();
    uuid.ok_or(SchemaError::NoUuid { table })
}
