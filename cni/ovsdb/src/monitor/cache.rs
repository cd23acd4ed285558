//! The rows of the monitored tables, kept up to date by the updates of a monitor. No IO.
//!
//! A clone is cheap and never changes: tables and rows are shared until one of the two copies is
//! updated.

use super::messages::{Change, RowUpdate};
use crate::schema::{Bridge, Interface, OpenVswitch, Port, SchemaError, Table, TableRow};
use crate::value::{ColumnKind, Row, Uuid, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

type Rows = BTreeMap<Uuid, Arc<Row>>;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cache {
    tables: BTreeMap<&'static str, CachedTable>,
}

#[derive(Debug, Clone, PartialEq)]
struct CachedTable {
    table: Table,
    rows: Arc<Rows>,
}

/// An update that does not match the cached rows: the cache is inconsistent and has to be read
/// again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The table is not monitored.
    #[error("the database sent an update of table {0}, which is not monitored")]
    UnknownTable(String),
    /// A row that is not cached was changed or deleted.
    #[error("the database sent an update of row {uuid} of {table}, which is not cached")]
    UnknownRow { table: &'static str, uuid: Uuid },
}

impl Cache {
    /// Returns an empty cache of these tables.
    #[must_use]
    pub fn new(tables: &[&Table]) -> Self {
        let cached = |table: &&Table| (table.name, CachedTable { table: **table, rows: Arc::default() });
        Self { tables: tables.iter().map(cached).collect() }
    }

    /// Applies the changes that a monitor sent. After an error, the changes before the failed one
    /// are applied.
    pub fn apply(&mut self, updates: impl IntoIterator<Item = RowUpdate>) -> Result<(), CacheError> {
        updates.into_iter().try_for_each(|update| self.apply_one(update))
    }

    fn apply_one(&mut self, update: RowUpdate) -> Result<(), CacheError> {
        let Some(CachedTable { table, rows }) = self.tables.get_mut(update.table.as_str()) else {
            return Err(CacheError::UnknownTable(update.table));
        };
        let uuid = update.uuid;
        let unknown = CacheError::UnknownRow { table: table.name, uuid };
        let rows = Arc::make_mut(rows);
        match update.change {
            Change::Insert(row) => {
                rows.insert(uuid, Arc::new(row));
            }
            Change::Modify(difference) => {
                modify(table, Arc::make_mut(rows.get_mut(&uuid).ok_or(unknown)?), &difference);
            }
            Change::Delete => {
                rows.remove(&uuid).ok_or(unknown)?;
            }
        }
        Ok(())
    }

    /// Returns all rows of a type, in the order of their identifiers.
    pub fn rows<T: TableRow>(&self) -> Result<Vec<T>, SchemaError> {
        let rows = self.tables.get(T::TABLE.name).into_iter().flat_map(|table| table.rows.iter());
        rows.map(|(uuid, row)| T::from_row(*uuid, row)).collect()
    }

    pub fn row<T: TableRow>(&self, uuid: Uuid) -> Result<Option<T>, SchemaError> {
        let row = self.tables.get(T::TABLE.name).and_then(|table| table.rows.get(&uuid));
        row.map(|row| T::from_row(uuid, row)).transpose()
    }

    /// Returns the row of the table `Open_vSwitch`, unless the database was never initialised.
    pub fn open_vswitch(&self) -> Result<Option<OpenVswitch>, SchemaError> {
        Ok(self.rows()?.into_iter().next())
    }

    pub fn bridges(&self) -> Result<Vec<Bridge>, SchemaError> {
        self.rows()
    }

    pub fn ports(&self) -> Result<Vec<Port>, SchemaError> {
        self.rows()
    }

    pub fn interfaces(&self) -> Result<Vec<Interface>, SchemaError> {
        self.rows()
    }
}

fn modify(table: &Table, row: &mut Row, difference: &Row) {
    for (column, difference) in difference.iter() {
        let kind =
            table.columns.iter().find(|known| known.name == column).map_or(ColumnKind::Single, |known| known.kind);
        let value = match (kind, row.remove(column), difference) {
            (ColumnKind::Set, Some(Value::Set(mut atoms)), Value::Set(changed)) => {
                // An update has the symmetric difference of sets: elements that are present are
                // deleted, and missing ones are added.
                for atom in changed {
                    if !atoms.remove(atom) {
                        atoms.insert(atom.clone());
                    }
                }
                Value::Set(atoms)
            }
            (ColumnKind::Map, Some(Value::Map(mut pairs)), Value::Map(changed)) => {
                // An update has the difference of maps: a pair that is present is deleted, and any
                // other pair is the key's new value.
                for (key, value) in changed {
                    if pairs.get(key) == Some(value) {
                        pairs.remove(key);
                    } else {
                        pairs.insert(key.clone(), value.clone());
                    }
                }
                Value::Map(pairs)
            }
            (_, _, new) => new.clone(),
        };
        row.set(column, value);
    }
}
