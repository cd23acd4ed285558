//! The results of a transaction that was committed.

use crate::schema::{self, SchemaError, TableRow};
use crate::transaction::{CountIndex, DATABASE, NextCfgIndex, RowsIndex, SelectIndex};
use crate::value::{NamedUuid, Row, Uuid};

/// The results of a transaction that was committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub(crate) results: Vec<OperationResult>,
}

/// The result of one operation.
#[derive(Debug, Clone, PartialEq)]
pub enum OperationResult {
    /// Insert: the identifier of the new row.
    Uuid(Uuid),
    /// Select: the rows.
    Rows(Vec<Row>),
    /// Update, mutate, delete: how many rows were found.
    Count(u64),
    /// Every other operation.
    Nothing,
}

/// The reply does not contain what was requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The index belongs to another transaction.
    #[error("operation {index} of this transaction has no {expected}; the index comes from another transaction")]
    WrongIndex {
        /// The place of the operation.
        index: usize,
        /// The kind of result that was requested.
        expected: &'static str,
    },
    /// The transaction was committed and matched another number of rows.
    #[error("the transaction was committed, and its operation {index} matched {found} rows instead of {expected}")]
    Count {
        /// The place of the operation.
        index: usize,
        /// The number of rows that there should be.
        expected: u64,
        /// The number of rows that the database found.
        found: u64,
    },
    /// A row does not fit its type.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Reply {
    /// All results in the order of the operations.
    #[must_use]
    pub fn results(&self) -> &[OperationResult] {
        &self.results
    }

    /// The identifier of a row that the transaction inserted.
    ///
    /// # Errors
    /// [`ReplyError::WrongIndex`] for a name of another transaction.
    pub fn inserted(&self, name: NamedUuid) -> Result<Uuid, ReplyError> {
        match self.results.get(name.0) {
            Some(OperationResult::Uuid(uuid)) => Ok(*uuid),
            _ => Err(ReplyError::WrongIndex { index: name.0, expected: "inserted row" }),
        }
    }

    /// How many rows an update, a mutation or a deletion found.
    ///
    /// # Errors
    /// [`ReplyError::WrongIndex`] for an index of another transaction.
    pub fn count(&self, index: CountIndex) -> Result<u64, ReplyError> {
        match self.results.get(index.0) {
            Some(OperationResult::Count(count)) => Ok(*count),
            _ => Err(ReplyError::WrongIndex { index: index.0, expected: "number of rows" }),
        }
    }

    /// Checks how many rows an update, a mutation or a deletion matched. A guard in the transaction
    /// is preferable where nothing may be changed otherwise: here it is committed already.
    ///
    /// # Errors
    /// [`ReplyError::Count`] if it matched another number.
    pub fn expect_count(&self, index: CountIndex, expected: u64) -> Result<(), ReplyError> {
        let found = self.count(index)?;
        if found == expected { Ok(()) } else { Err(ReplyError::Count { index: index.0, expected, found }) }
    }

    /// The rows that a select found.
    ///
    /// # Errors
    /// [`ReplyError::WrongIndex`] for an index of another transaction.
    pub fn raw_rows(&self, index: SelectIndex) -> Result<&[Row], ReplyError> {
        match self.results.get(index.0) {
            Some(OperationResult::Rows(rows)) => Ok(rows),
            _ => Err(ReplyError::WrongIndex { index: index.0, expected: "selected rows" }),
        }
    }

    /// The rows that a typed select found.
    ///
    /// # Errors
    /// [`ReplyError::Schema`] when a row does not fit the type.
    pub fn rows<T: TableRow>(&self, index: RowsIndex<T>) -> Result<Vec<T>, ReplyError> {
        let rows = self.raw_rows(index.0)?.iter();
        Ok(rows.map(|row| T::from_row(schema::uuid(T::TABLE.name, row)?, row)).collect::<Result<_, _>>()?)
    }

    /// The value that the transaction set `next_cfg` to.
    ///
    /// # Errors
    /// [`ReplyError::Count`] if the database has no row in the table `Open_vSwitch`: it was never
    /// initialised.
    pub fn next_cfg(&self, index: NextCfgIndex) -> Result<i64, ReplyError> {
        let rows = self.raw_rows(index.0)?;
        let [row] = rows else {
            let found = rows.len().try_into().unwrap_or(u64::MAX);
            return Err(ReplyError::Count { index: index.0.0, expected: 1, found });
        };
        let uuid = schema::uuid(DATABASE, row)?;
        Ok(schema::column(DATABASE, uuid, row, "next_cfg")?)
    }
}
