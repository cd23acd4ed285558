use super::*;
use usnet_crds::conditions::{Finding, READY, Status};

fn report(status: Status) -> Report {
    Report {
        observed_generation: Some(1),
        networks: Vec::new(),
        engines: Vec::new(),
        findings: vec![Finding::new(READY, status, "Reason", "text")],
    }
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

#[test]
fn what_the_object_says_already_is_not_written() {
    let first = due(report(Status::True), &UserspaceNodeStateStatus::default(), None).expect("nothing is there yet");
    // As it comes back from the API server.
    let stored: UserspaceNodeStateStatus = serde_json::from_value(serde_json::to_value(&first).unwrap()).unwrap();
    assert_eq!(due(report(Status::True), &stored, Some(&first.conditions)), None);
}

#[test]
fn since_when_a_condition_holds_outlives_the_agent() {
    let old = report(Status::True).into_status(&[], &at(10));
    let mut next = report(Status::True);
    next.observed_generation = Some(2);
    let status = due(next, &old, None).expect("the generation changed");
    assert_eq!(status.conditions[0].last_transition_time, at(10));
}

#[test]
fn a_status_that_somebody_else_changed_is_written_again() {
    let written = report(Status::True).into_status(&[], &at(10));
    let defaced = report(Status::False).into_status(&[], &at(20));
    assert_eq!(due(report(Status::True), &defaced, Some(&written.conditions)), Some(written.clone()));
}
