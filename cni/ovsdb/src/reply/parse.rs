//! Parsing of the reply to a transaction.

use super::{DatabaseError, OperationResult, Reply, TransactionError};
use crate::operation::ResultKind;
use crate::transaction::Transaction;
use crate::value::{FromValue, ParseError, Uuid, from_json, row_from_json};
use serde_json::Value as Json;

/// Parses the result of a `transact` request.
pub(crate) fn parse(transaction: &Transaction, json: &Json) -> Result<Reply, TransactionError> {
    let operations = transaction.operations();
    let not_results = || TransactionError::NotResults {
        expected: operations.len(),
        source: ParseError::new("one result for each operation", json),
    };
    let elements = json.as_array().ok_or_else(not_results)?;
    // Errors come first: the results after one are null, and those before it are void.
    for (index, element) in elements.iter().enumerate() {
        let Some(error) = DatabaseError::from_json(element) else { continue };
        return Err(match operations.get(index) {
            Some(operation) => TransactionError::Operation { index, operation: operation.to_string(), error },
            None => TransactionError::Commit(error),
        });
    }
    if elements.len() != operations.len() {
        return Err(not_results());
    }
    let mut results = Vec::with_capacity(elements.len());
    for (index, (operation, element)) in operations.iter().zip(elements).enumerate() {
        let malformed = |source| TransactionError::Malformed { index, operation: operation.to_string(), source };
        results.push(result(operation.result_kind(), element).map_err(malformed)?);
    }
    Ok(Reply { results })
}

fn result(kind: ResultKind, json: &Json) -> Result<OperationResult, ParseError> {
    let malformed = |expected| ParseError::new(expected, json);
    match kind {
        ResultKind::Nothing if json.is_object() => Ok(OperationResult::Nothing),
        ResultKind::Nothing => Err(malformed("an empty result")),
        ResultKind::Uuid => {
            let value = json.get("uuid").map(from_json).transpose()?;
            let uuid = value.as_ref().and_then(Option::<Uuid>::from_value).flatten();
            uuid.map(OperationResult::Uuid).ok_or_else(|| malformed("the identifier of a row"))
        }
        ResultKind::Count => {
            let count = json.get("count").and_then(Json::as_u64);
            count.map(OperationResult::Count).ok_or_else(|| malformed("a number of rows"))
        }
        ResultKind::Rows => {
            let rows = json.get("rows").and_then(Json::as_array).ok_or_else(|| malformed("rows"))?;
            rows.iter().map(row_from_json).collect::<Result<_, _>>().map(OperationResult::Rows)
        }
    }
}
