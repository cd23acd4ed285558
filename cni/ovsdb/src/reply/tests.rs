use super::{DatabaseError, ErrorCode, OperationResult, ReplyError, TransactionError, parse};
use crate::operation::{Condition, Mutation};
use crate::transaction::Transaction;
use crate::value::{Row, Uuid};
use serde_json::json;

const UUID: &str = "0123abcd-0000-4000-8000-00000000000f";

#[test]
fn each_operation_has_its_result() {
    let mut transaction = Transaction::new();
    let port = transaction.insert("Port", Row::new().with("name", "p"));
    let ports = transaction.mutate("Bridge", vec![], vec![Mutation::insert("ports", port)]);
    let rows = transaction.select("Bridge", vec![], &["name"]);
    transaction.comment("a test");
    let answer = json!([
        {"uuid": ["uuid", UUID]},
        {"count": 1},
        {"rows": [{"_uuid": ["uuid", UUID], "name": "br0"}]},
        {},
    ]);
    let reply = parse(&transaction, &answer).expect("a reply");
    let uuid: Uuid = UUID.parse().expect("a UUID");
    assert_eq!(reply.inserted(port), Ok(uuid));
    assert_eq!(reply.count(ports), Ok(1));
    assert_eq!(reply.expect_count(ports, 2), Err(ReplyError::Count { index: 1, expected: 2, found: 1 }));
    assert_eq!(reply.raw_rows(rows), Ok([Row::new().with("name", "br0").with("_uuid", uuid)].as_slice()));
    assert_eq!(reply.results().last(), Some(&OperationResult::Nothing));
}

#[test]
fn error_in_the_list_names_its_operation() {
    let mut transaction = Transaction::new();
    transaction.require_row("Bridge", vec![Condition::equal("name", "br0")]);
    transaction.comment("never reached");
    let answer = json!([{"error": "timed out", "details": "\"where\" clause test failed"}, null]);
    let error = parse(&transaction, &answer).expect_err("the guard failed");
    assert_eq!(
        error.to_string(),
        "operation 0 (wait for Bridge where name == \"br0\") failed: timed out (\"where\" clause test failed)"
    );
    assert_eq!(error.database().map(|error| &error.code), Some(&ErrorCode::TimedOut));
}

#[test]
fn extra_element_is_an_error_of_the_commit() {
    let mut transaction = Transaction::new();
    transaction.insert("Port", Row::new());
    let answer = json!([{"uuid": ["uuid", UUID]}, {"error": "constraint violation", "details": "two of them"}]);
    let details = "two of them".to_owned();
    let error = DatabaseError { code: ErrorCode::ConstraintViolation, details };
    assert_eq!(parse(&transaction, &answer), Err(TransactionError::Commit(error)));
}

#[test]
fn answers_of_another_form_are_refused() {
    let mut transaction = Transaction::new();
    transaction.insert("Port", Row::new());
    for answer in [json!({}), json!([]), json!([{}, {}]), json!(null)] {
        let error = parse(&transaction, &answer).expect_err("not results");
        assert!(matches!(error, TransactionError::NotResults { expected: 1, .. }), "{error}");
    }
    for answer in [json!([null]), json!([{"count": 1}]), json!([{"uuid": "x"}])] {
        let error = parse(&transaction, &answer).expect_err("not a row identifier");
        assert!(matches!(error, TransactionError::Malformed { index: 0, .. }), "{error}");
    }
}

#[test]
fn index_of_another_transaction_is_refused() {
    let mut transaction = Transaction::new();
    transaction.comment("first");
    let port = transaction.insert("Port", Row::new());
    let mut other = Transaction::new();
    other.comment("only");
    let reply = parse(&other, &json!([{}])).expect("a reply");
    assert_eq!(reply.inserted(port), Err(ReplyError::WrongIndex { index: 1, expected: "inserted row" }));
}
