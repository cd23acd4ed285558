//! What the answers of the API server mean for a node state.

use super::*;
use kube::core::Status;

fn edit() -> Write {
    Write::EditNodeState { node: "node-a".to_owned(), uid: "1".to_owned(), generation: 7, edits: Vec::new() }
}

fn whole() -> Write {
    Write::NodeState { node: "node-a".to_owned(), owner: "1".to_owned(), networks: Vec::new() }
}

/// What comes of a write that is answered so.
fn answered(write: Write, code: u16, message: &str) -> Outcome {
    let answer = Status::failure(message, "Invalid").with_code(code);
    let result = Err(failure(&write, kube::Error::Api(answer.boxed())));
    Outcome { write, result }
}

fn is_stale(outcome: &Outcome) -> bool {
    outcome.result.as_ref().is_err_and(Error::is_stale)
}

#[test]
fn edits_that_do_not_fit_came_too_late_and_a_whole_state_that_is_not_taken_is_refused() {
    for code in [404, 409, 422] {
        let outcome = answered(edit(), code, "the test in the patch failed");
        assert!(is_stale(&outcome) && outcome.refusal().is_none(), "{code}");
    }
    let outcome = answered(whole(), 422, "networks: too many");
    let message = "the API server does not take its UserspaceNodeState: networks: too many".to_owned();
    assert!(!is_stale(&outcome));
    assert_eq!(outcome.refusal(), Some(("node-a", message)));
    for write in [edit(), whole()] {
        let outcome = answered(write, 500, "etcdserver: request is too large");
        assert!(outcome.refusal().is_some() && !is_stale(&outcome));
    }
    assert_eq!(answered(whole(), 500, "no leader").refusal(), None, "that passes");
}
