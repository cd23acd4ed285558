//! The results of a transaction that was committed.

use crate::schema::{self, SchemaError, TableRow};
use crate::transaction::{CountIndex, DATABASE, NextCfgIndex, RowsIndex, SelectIndex};
use crate::value::{NamedUuid, Row, Uuid};

/// The results of a transaction that was committed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub(crate) results: Vec<OperationResult>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum OperationResult {
    /// The identifier of an inserted row.
    Uuid(Uuid),
    /// The selected rows.
    Rows(Vec<Row>),
    /// The number of updated, mutated or deleted rows.
    Count(u64),
    /// Other operations have no result.
    Nothing,
}

/// An error of a request for a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The index belongs to another transaction.
    #[error("operation {index} of this transaction has no {expected}; the index comes from another transaction")]
    WrongIndex { index: usize, expected: &'static str },
    /// The transaction was committed and matched another number of rows.
    #[error("the transaction was committed, and its operation {index} matched {found} rows instead of {expected}")]
    Count { index: usize, expected: u64, found: u64 },
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl Reply {
    /// Returns all results in the order of the operations.
    #[must_use]
    pub fn results(&self) -> &[OperationResult] {
        &self.results
    }

    /// Returns the identifier of a row that the transaction inserted.
    pub fn inserted(&self, name: NamedUuid) -> Result<Uuid, ReplyError> {
        match self.results.get(name.0) {
            Some(OperationResult::Uuid(uuid)) => Ok(*uuid),
            _ => Err(ReplyError::WrongIndex { index: name.0, expected: "inserted row" }),
        }
    }

    /// Returns the number of rows that an update, a mutation or a deletion matched.
    pub fn count(&self, index: CountIndex) -> Result<u64, ReplyError> {
        match self.results.get(index.0) {
            Some(OperationResult::Count(count)) => Ok(*count),
            _ => Err(ReplyError::WrongIndex { index: index.0, expected: "number of rows" }),
        }
    }

    /// Checks the number of rows that an update, a mutation or a deletion matched. The transaction
    /// is committed already: a guard in the transaction prevents other changes as well.
    pub fn expect_count(&self, index: CountIndex, expected: u64) -> Result<(), ReplyError> {
        let found = self.count(index)?;
        if found == expected { Ok(()) } else { Err(ReplyError::Count { index: index.0, expected, found }) }
    }

    /// Returns the rows of a select.
    pub fn raw_rows(&self, index: SelectIndex) -> Result<&[Row], ReplyError> {
        match self.results.get(index.0) {
            Some(OperationResult::Rows(rows)) => Ok(rows),
            _ => Err(ReplyError::WrongIndex { index: index.0, expected: "selected rows" }),
        }
    }

    /// Returns the rows of a typed select.
    pub fn rows<T: TableRow>(&self, index: RowsIndex<T>) -> Result<Vec<T>, ReplyError> {
        let rows = self.raw_rows(index.0)?.iter();
        Ok(rows.map(|row| T::from_row(schema::uuid(T::TABLE.name, row)?, row)).collect::<Result<_, _>>()?)
    }

    /// Returns the value to which the transaction set `next_cfg`.
    ///
    /// # Errors
    /// [`ReplyError::Count`] if the table `Open_vSwitch` has no row, because the database was never
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
