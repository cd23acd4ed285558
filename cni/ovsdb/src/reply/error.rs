//! Errors of a transaction, reported by the database or found in its reply.

use crate::value::{ParseError, shortened};
use serde_json::Value as Json;
use std::fmt;

/// The reason why a transaction was not committed. Nothing was changed, unless the reply could not
/// be decoded: see [`TransactionError::database`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    #[error("operation {index} ({operation}) failed: {error}")]
    Operation {
        /// The place in the transaction, from 0.
        index: usize,
        operation: String,
        error: DatabaseError,
    },
    /// Every operation succeeded, and together they violate the schema.
    #[error("the commit failed: {0}")]
    Commit(DatabaseError),
    /// The reply does not conform to RFC 7047.
    #[error("cannot decode the result of operation {index} ({operation})")]
    Malformed {
        index: usize,
        operation: String,
        #[source]
        source: ParseError,
    },
    /// The reply is not a list with a result for each operation.
    #[error("the reply is not a list of {expected} results")]
    NotResults {
        expected: usize,
        #[source]
        source: ParseError,
    },
}

/// An error of the database (`<error>` in RFC 7047 §3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseError {
    pub code: ErrorCode,
    /// `details` and `syntax` of the error, for users. It may be empty.
    pub details: String,
}

/// The errors of RFC 7047 (§3.1, §4.1.3, §5.2) and of `ovsdb-server` that a caller may want to
/// distinguish.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A wait operation timed out, or a guard failed.
    TimedOut,
    /// A value or a set of rows violates the schema: range, unique names, immutable columns.
    ConstraintViolation,
    /// A row to delete is referred to, or a row that is referred to does not exist.
    ReferentialIntegrityViolation,
    /// The transaction has an abort operation.
    Aborted,
    /// This client does not hold the lock.
    NotOwner,
    UnknownDatabase,
    /// A table or column is unknown, or a value has the wrong type.
    SyntaxError,
    UnknownMethod,
    /// Another error, as sent by the database.
    Other(String),
}

const CODES: [(&str, ErrorCode); 8] = [
    ("timed out", ErrorCode::TimedOut),
    ("constraint violation", ErrorCode::ConstraintViolation),
    ("referential integrity violation", ErrorCode::ReferentialIntegrityViolation),
    ("aborted", ErrorCode::Aborted),
    ("not owner", ErrorCode::NotOwner),
    ("unknown database", ErrorCode::UnknownDatabase),
    ("syntax error", ErrorCode::SyntaxError),
    ("unknown method", ErrorCode::UnknownMethod),
];

impl TransactionError {
    /// Returns the error that the database reported: nothing was changed. `None` means that the
    /// reply could not be decoded, and that the transaction may have been committed.
    #[must_use]
    pub fn database(&self) -> Option<&DatabaseError> {
        match self {
            Self::Operation { error, .. } | Self::Commit(error) => Some(error),
            Self::Malformed { .. } | Self::NotResults { .. } => None,
        }
    }
}

impl DatabaseError {
    /// Parses the error in a result, or in the `error` member of a response: an object, or for
    /// unknown methods a bare text. Returns `None` if the JSON is not an error.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let text = |member: &str| json.get(member).and_then(Json::as_str);
        let code = json.as_str().or_else(|| text("error"))?;
        let details = [text("details"), text("syntax")].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Some(Self { code: ErrorCode::parse(code), details })
    }

    /// Parses the error of a request that was refused as a whole. It may have any form.
    pub(crate) fn from_rpc(json: &Json) -> Self {
        let unknown = || Self { code: ErrorCode::Other(shortened(&json.to_string())), details: String::new() };
        Self::from_json(json).unwrap_or_else(unknown)
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.code)?;
        if self.details.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.details) }
    }
}

impl ErrorCode {
    fn parse(text: &str) -> Self {
        let known = CODES.iter().find(|(name, _)| *name == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |(_, code)| code.clone())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(text) => formatter.write_str(text),
            known => {
                let name = CODES.iter().find(|(_, code)| code == known).map_or("error", |(name, _)| name);
                formatter.write_str(name)
            }
        }
    }
}
