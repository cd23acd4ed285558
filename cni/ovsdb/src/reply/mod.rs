//! The reply to a transaction (RFC 7047 §4.1.3).
//!
//! It is a list with one result for each operation. An error takes the place of a result; the
//! operations after it have `null`. An error of the commit is an additional element at the end, and
//! all before it report success.

mod error;
mod parse;
mod results;
#[cfg(test)]
mod tests;

pub use error::{DatabaseError, ErrorCode, TransactionError};
pub use results::{OperationResult, Reply, ReplyError};

pub(crate) use parse::parse;
