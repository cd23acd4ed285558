//! Operations of a transaction, RFC 7047 §5.2.
//!
//! Tables and columns are names of the program, never of its input, hence `&'static str`.

mod condition;
mod json;
#[cfg(test)]
mod tests;

pub use condition::{Condition, Function, Mutation, Mutator};

use crate::value::{NamedUuid, Row};
use std::fmt;
use std::time::Duration;

/// One operation. The operations of a transaction are executed in order, all or none.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// Adds a row. In a table that is not a root the row is dropped at commit unless another row
    /// refers to it.
    Insert {
        /// The table.
        table: &'static str,
        /// The columns that have not their default.
        row: Row,
        /// How the other operations of the transaction refer to the row.
        name: NamedUuid,
    },
    /// Reads rows.
    Select {
        /// The table.
        table: &'static str,
        /// Which rows; all rows when it is empty.
        conditions: Vec<Condition>,
        /// Which columns. Without `_uuid` the database omits duplicate rows.
        columns: Vec<&'static str>,
    },
    /// Sets columns of rows.
    Update {
        /// The table.
        table: &'static str,
        /// Which rows.
        conditions: Vec<Condition>,
        /// The columns to set.
        row: Row,
    },
    /// Changes columns of rows relative to their value.
    Mutate {
        /// The table.
        table: &'static str,
        /// Which rows.
        conditions: Vec<Condition>,
        /// The changes, done in order.
        mutations: Vec<Mutation>,
    },
    /// Deletes rows. The commit fails if another row refers to one of them: delete the reference
    /// instead.
    Delete {
        /// The table.
        table: &'static str,
        /// Which rows.
        conditions: Vec<Condition>,
    },
    /// Waits until the selected rows are the given ones, or are not; the transaction fails when
    /// `timeout` is over.
    Wait {
        /// The table.
        table: &'static str,
        /// Which rows to compare.
        conditions: Vec<Condition>,
        /// Which columns to compare.
        columns: Vec<&'static str>,
        /// Wait for equal or for not equal rows.
        until: Until,
        /// The rows to compare with.
        rows: Vec<Row>,
        /// Rounded to milliseconds; 0 makes the operation a guard. The protocol allows to wait
        /// indefinitely, this crate does not.
        timeout: Duration,
    },
    /// With `durable`, the server answers only when the transaction is on disk.
    Commit {
        /// Whether to wait for the disk.
        durable: bool,
    },
    /// Fails the transaction: a dry run.
    Abort,
    /// A text for the log of the database.
    Comment(String),
    /// Fails the transaction unless this client holds the lock.
    Assert {
        /// The lock's name.
        lock: &'static str,
    },
}

/// What a [`Operation::Wait`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The rows are the same.
    Equal,
    /// The rows are not the same.
    NotEqual,
}

/// Which result the database gives for an operation.
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
            Self::Wait { .. } | Self::Commit { .. } | Self::Abort | Self::Comment(_) | Self::Assert { .. } => {
                ResultKind::Nothing
            }
        }
    }
}

impl fmt::Display for Operation {
    /// A short form of the operation for error messages: what it does, on which rows, without the
    /// data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, table, conditions) = match self {
            Self::Insert { table, .. } => return write!(formatter, "insert into {table}"),
            Self::Commit { durable } => return write!(formatter, "commit (durable: {durable})"),
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
