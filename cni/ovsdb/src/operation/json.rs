//! The JSON form of operations (RFC 7047 §5.2).

use super::{Condition, Mutation, Operation, Until};
use serde::ser::{Serialize, SerializeMap, Serializer};

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.column, self.function.symbol(), &self.value).serialize(serializer)
    }
}

impl Serialize for Mutation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.column, self.mutator.symbol(), &self.value).serialize(serializer)
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("op", self.name())?;
        match self {
            Self::Insert { table, row, name } => {
                object.serialize_entry("table", table)?;
                object.serialize_entry("row", row)?;
                object.serialize_entry("uuid-name", &name.to_string())?;
            }
            Self::Select { table, conditions, columns } => {
                target::<S>(&mut object, table, conditions)?;
                object.serialize_entry("columns", columns)?;
            }
            Self::Update { table, conditions, row } => {
                target::<S>(&mut object, table, conditions)?;
                object.serialize_entry("row", row)?;
            }
            Self::Mutate { table, conditions, mutations } => {
                target::<S>(&mut object, table, conditions)?;
                object.serialize_entry("mutations", mutations)?;
            }
            Self::Delete { table, conditions } => target::<S>(&mut object, table, conditions)?,
            Self::Wait { table, conditions, columns, until, rows, timeout } => {
                target::<S>(&mut object, table, conditions)?;
                object.serialize_entry("columns", columns)?;
                object.serialize_entry("until", until.symbol())?;
                object.serialize_entry("rows", rows)?;
                object.serialize_entry("timeout", &i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX))?;
            }
            Self::Abort => {}
            Self::Comment(text) => object.serialize_entry("comment", text)?,
            Self::Assert { lock } => object.serialize_entry("lock", lock)?,
        }
        object.end()
    }
}

fn target<S: Serializer>(
    object: &mut S::SerializeMap,
    table: &'static str,
    conditions: &[Condition],
) -> Result<(), S::Error> {
    object.serialize_entry("table", table)?;
    object.serialize_entry("where", conditions)
}

impl Operation {
    fn name(&self) -> &'static str {
        match self {
            Self::Insert { .. } => "insert",
            Self::Select { .. } => "select",
            Self::Update { .. } => "update",
            Self::Mutate { .. } => "mutate",
            Self::Delete { .. } => "delete",
            Self::Wait { .. } => "wait",
            Self::Abort => "abort",
            Self::Comment(_) => "comment",
            Self::Assert { .. } => "assert",
        }
    }
}

impl Until {
    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }
}
