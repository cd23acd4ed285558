//! Operations of a transaction (RFC 7047 §5.2).
//!
//! Tables and columns are named in the program and never in its input, hence `&'static str`.

mod condition;
mod json;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Function, Mutation, Mutator};

use crate::value::{NamedUuid, Row};
use std::fmt;
use std::time::Duration;

/// An operation. The operations of a transaction are executed in order, all or none.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// Adds a row. In a table that is not a root, the row is dropped at commit unless another row
    /// refers to it.
    Insert {
        table: &'static str,
        /// The columns that do not have their default.
        row: Row,
        /// The name by which other operations of the transaction refer to the row.
        name: NamedUuid,
    },
    Select {
        table: &'static str,
        /// Without a condition, all rows are read.
        conditions: Vec<Condition>,
        /// Without `_uuid`, the database omits duplicate rows.
        columns: Vec<&'static str>,
    },
    Update {
        table: &'static str,
        conditions: Vec<Condition>,
        row: Row,
    },
    /// Changes columns relative to their value.
    Mutate {
        table: &'static str,
        conditions: Vec<Condition>,
        /// The changes are executed in order.
        mutations: Vec<Mutation>,
    },
    /// Deletes rows. The commit fails if another row refers to one of them: delete the reference
    /// instead.
    Delete {
        table: &'static str,
        conditions: Vec<Condition>,
    },
    /// Waits until the selected rows are equal to the given ones, or differ. The transaction fails
    /// when `timeout` is over.
    Wait {
        table: &'static str,
        conditions: Vec<Condition>,
        columns: Vec<&'static str>,
        until: Until,
        rows: Vec<Row>,
        /// The time in milliseconds; 0 makes the operation a guard. The protocol also allows to
        /// wait indefinitely, which this crate does not.
        timeout: Duration,
    },
    /// Fails the transaction, which makes it a dry run.
    Abort,
    /// Adds a text to the log of the database.
    Comment(String),
    /// Fails the transaction unless this client holds the lock.
    Assert {
        lock: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Equal,
    NotEqual,
}

/// The kind of result that the database gives for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Uuid,
    Rows,
    Count,
    Nothing,
}

impl Operation {
    pub(crate) fn result_kind(&self) -> ResultKind {
        match self {
            Self::Insert { .. } => ResultKind::Uuid,
            Self::Select { .. } => ResultKind::Rows,
            Self::Update { .. } | Self::Mutate { .. } | Self::Delete { .. } => ResultKind::Count,
            Self::Wait { .. } | Self::Abort | Self::Comment(_) | Self::Assert { .. } => ResultKind::Nothing,
        }
    }
}

impl fmt::Display for Operation {
    /// Formats the operation without its data, for error messages.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, table, conditions) = match self {
            Self::Insert { table, .. } => return write!(formatter, "insert into {table}"),
            Self::Abort => return formatter.write_str("abort"),
            Self::Comment(_) => return formatter.write_str("comment"),
            Self::Assert { lock } => return write!(formatter, "assert lock {lock}"),
            Self::Select { table, conditions, .. } => ("select", table, conditions),
            Self::Update { table, conditions, .. } => ("update", table, conditions),
            Self::Mutate { table, conditions, .. } => ("mutate", table, conditions),
            Self::Delete { table, conditions } => ("delete", table, conditions),
            Self::Wait { table, conditions, .. } => ("wait for", table, conditions),
        };
        write!(formatter, "{verb} {table}")?;
        for (index, condition) in conditions.iter().enumerate() {
            write!(formatter, "{} {condition}", if index == 0 { " where" } else { " and" })?;
        }
        Ok(())
    }
}
