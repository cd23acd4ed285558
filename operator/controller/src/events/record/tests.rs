use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use usnet_crds::conditions::reason::{ALL_NODES, BRIDGE_EXISTS, IN_USE, NAME_CONFLICT, VALID};
use usnet_crds::conditions::{ConditionUpdate, RECONCILING, merge};

type Part = (&'static str, Status, &'static str);

fn conditions(parts: &[Part]) -> Vec<Condition> {
    let updates =
        parts.iter().map(|(kind, status, reason)| ConditionUpdate::new(kind, *status, *reason, "text")).collect();
    merge(&[], updates, Some(1), &Time(Timestamp::UNIX_EPOCH))
}

/// The events of a transition as `type reason`.
fn events(old: &[Part], new: &[Part]) -> Vec<String> {
    let records = transitions(&network_reference("blue", "uid-1"), &conditions(old), &conditions(new));
    assert!(records.iter().all(|record| record.regarding.uid.as_deref() == Some("uid-1")));
    records.iter().map(|record| format!("{:?} {}", record.kind, record.reason)).collect()
}

const READY_NOW: Part = (READY, Status::True, ALL_NODES);
const ACCEPTED_NOW: Part = (ACCEPTED, Status::True, VALID);

#[test]
fn creation_is_reported_when_work_begins_and_ends() {
    let starting = [(READY, Status::Unknown, SYNCING), (RECONCILING, Status::True, SYNCING)];
    let pending = [(READY, Status::False, PENDING), ACCEPTED_NOW, (RECONCILING, Status::True, PENDING)];
    assert_eq!(events(&[], &starting), [""; 0]);
    assert_eq!(events(&starting, &pending), ["Normal Pending"]);
    assert_eq!(events(&pending, &[READY_NOW, ACCEPTED_NOW]), ["Normal Ready"]);
    assert_eq!(events(&[READY_NOW], &[READY_NOW]), [""; 0]);
}

#[test]
fn conditions_that_share_a_reason_are_one_event() {
    let stalled = [(READY, Status::False, BRIDGE_EXISTS), ACCEPTED_NOW, (STALLED, Status::True, BRIDGE_EXISTS)];
    assert_eq!(events(&[READY_NOW, ACCEPTED_NOW], &stalled), ["Warning BridgeExists"]);
    let conflict = [
        (READY, Status::False, NAME_CONFLICT),
        (ACCEPTED, Status::False, NAME_CONFLICT),
        (STALLED, Status::True, NAME_CONFLICT),
    ];
    assert_eq!(events(&stalled, &conflict), ["Warning NameConflict"]);
}

#[test]
fn an_event_has_the_text_and_not_the_reference_to_it() {
    let of = |kind, status, message: &str| ConditionUpdate::new(kind, status, BRIDGE_EXISTS, message);
    let conditions = |updates| merge(&[], updates, Some(1), &Time(Timestamp::UNIX_EPOCH));
    let failed = || of(READY, Status::False, "bridge br0 exists");
    let old = conditions(vec![failed()]);
    let new = conditions(vec![failed(), of(STALLED, Status::True, SEE_READY)]);
    let records = transitions(&network_reference("blue", "uid-1"), &old, &new);
    assert_eq!(records.iter().map(|record| record.message.as_str()).collect::<Vec<_>>(), ["bridge br0 exists"]);
}

#[test]
fn a_blocked_deletion_is_reported_once_as_a_warning() {
    let terminating = [(READY, Status::False, TERMINATING), (DELETION_BLOCKED, Status::True, IN_USE)];
    assert_eq!(events(&[READY_NOW], &terminating), ["Normal Terminating", "Warning InUse"]);
    assert_eq!(events(&terminating, &terminating), [""; 0]);
}
