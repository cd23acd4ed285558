//! When statuses are written: transitions at once, pods soon while there are few changes, counts
//! later, and never more than one a second.

use super::super::status::due::{
    BEGIN, COUNTS, INTERVAL, NODE_COUNTS, PODS, PODS_BURST, PODS_INTERVAL, StatusTimes, Urgency,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::reason::{ALL_NODES, BRIDGE_EXISTS, PENDING};
use usnet_crds::conditions::{ConditionUpdate, READY, Status, merge};

fn status(generation: i64, ready: Status, reason: &str) -> UserspaceNetworkStatus {
    let now = Time(Timestamp::UNIX_EPOCH);
    UserspaceNetworkStatus {
        observed_generation: Some(generation),
        conditions: merge(&[], vec![ConditionUpdate::new(READY, ready, reason, "text")], Some(generation), &now),
        ..UserspaceNetworkStatus::default()
    }
}

fn ready() -> UserspaceNetworkStatus {
    status(1, Status::True, ALL_NODES)
}

#[test]
fn transitions_are_urgent_and_counts_are_not() {
    let pending = |generation| status(generation, Status::False, PENDING);
    let urgency = |old: &UserspaceNetworkStatus, new: &UserspaceNetworkStatus| Urgency::of(Some(old), new, false);
    assert_eq!(Urgency::of(None, &pending(1), false), Urgency::Transition);
    assert_eq!(urgency(&pending(1), &ready()), Urgency::Transition);
    assert_eq!(urgency(&ready(), &status(1, Status::False, BRIDGE_EXISTS)), Urgency::Transition);
    assert_eq!(urgency(&ready(), &pending(2)), Urgency::Begin, "a new generation");
    assert_eq!(urgency(&ready(), &pending(1)), Urgency::Counts, "a namespace or a node came");
    let attached = |attachments| UserspaceNetworkStatus { attachments, ..ready() };
    assert_eq!(urgency(&attached(1), &attached(2)), Urgency::Pods);
    // It may not be deleted any more, and may again.
    assert_eq!(urgency(&attached(0), &attached(1)), Urgency::Transition);
    assert_eq!(urgency(&attached(2), &attached(0)), Urgency::Transition);
    let connected = |connected| UserspaceNetworkStatus { connected, ..attached(2) };
    assert_eq!(urgency(&connected(0), &connected(1)), Urgency::Transition, "the first program");
    assert_eq!(urgency(&connected(1), &connected(2)), Urgency::Pods);
    let mut fewer_nodes = ready();
    fewer_nodes.nodes.selected = 1;
    assert_eq!(urgency(&ready(), &fewer_nodes), Urgency::Counts);
}

#[test]
fn a_change_of_nodes_without_pods_waits_longest() {
    let mut unreachable = ready();
    unreachable.nodes.unreachable = 1;
    assert_eq!(Urgency::of(Some(&ready()), &unreachable, false), Urgency::NodeCounts);
    assert_eq!(Urgency::of(Some(&ready()), &unreachable, true), Urgency::Counts, "it has pods");
    unreachable.attachments = 2;
    let with_pod = UserspaceNetworkStatus { attachments: 1, ..ready() };
    assert_eq!(Urgency::of(Some(&with_pod), &unreachable, false), Urgency::Pods);
}

/// When a status is due, in seconds after the start.
fn due(
    times: &mut StatusTimes,
    start: Instant,
    at: Duration,
    urgency: Urgency,
    status: &UserspaceNetworkStatus,
) -> f64 {
    (times.due("blue", "1", urgency, status, start + at) - start).as_secs_f64()
}

#[test]
fn frequent_changes_are_one_status_a_second() {
    let (mut times, start) = (StatusTimes::default(), Instant::now());
    let failing = status(1, Status::False, BRIDGE_EXISTS);
    assert_eq!(due(&mut times, start, Duration::ZERO, Urgency::Transition, &failing), 0.0);
    times.record_write("blue", &failing, start);
    let at = Duration::from_millis(100);
    assert_eq!(due(&mut times, start, at, Urgency::Transition, &failing), INTERVAL.as_secs_f64());
}

/// The milliseconds at which a status is written while the pods change at each of these.
fn pod_writes(times: &mut StatusTimes, start: Instant, changes: impl Iterator<Item = u64>) -> Vec<u64> {
    let changes: Vec<u64> = changes.collect();
    let (mut due, mut written): (Option<Instant>, _) = (None, Vec::new());
    for millisecond in changes[0]..=changes[changes.len() - 1] + 20_000 {
        let now = start + Duration::from_millis(millisecond);
        if changes.contains(&millisecond) {
            due = Some(times.due("blue", "1", Urgency::Pods, &ready(), now));
        }
        if due.is_some_and(|due| due <= now) {
            due = None;
            times.record_write("blue", &ready(), now);
            written.push(millisecond);
        }
    }
    written
}

#[test]
fn pods_are_shown_soon_and_under_load_every_five_seconds() {
    let (mut times, start) = (StatusTimes::default(), Instant::now());
    // A pod is attached, and its program connects.
    assert_eq!(pod_writes(&mut times, start, [0, 1_500].into_iter()), [300, 1_800]);
    let interval = u64::try_from(PODS_INTERVAL.as_millis()).unwrap();
    let quiet = u64::from(PODS_BURST) * interval;
    // A thousand nodes, of which each reports a pod in 100 s.
    let storm = pod_writes(&mut times, start, (0..1_000).map(|number| quiet + number * 100));
    assert_eq!(storm[0], quiet + 300);
    assert!(storm[1] - storm[0] >= 1_000, "one a second at most: {storm:?}");
    let bound = u64::from(PODS_BURST) + 100_000 / interval + 1;
    assert!(storm.len() as u64 <= bound, "{} writes: {storm:?}", storm.len());
    let steady: Vec<u64> = storm[storm.len() - 3..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steady.iter().all(|gap| *gap >= interval - 1_000), "{storm:?}");
    assert!(PODS < INTERVAL, "it is not what a user waits for");
}

#[test]
fn the_first_ready_of_a_generation_does_not_wait() {
    let (mut times, start) = (StatusTimes::default(), Instant::now());
    times.due("blue", "1", Urgency::Begin, &status(1, Status::False, PENDING), start);
    times.record_write("blue", &status(1, Status::False, PENDING), start);
    let at = Duration::from_millis(100);
    assert_eq!(due(&mut times, start, at, Urgency::Transition, &ready()), 0.1);
    times.record_write("blue", &ready(), start + at);
    assert_eq!(due(&mut times, start, 2 * at, Urgency::Transition, &ready()), 1.1, "it was reported");
    let other_uid = times.due("blue", "2", Urgency::Transition, &ready(), start + 2 * at);
    assert_eq!(other_uid, start + 2 * at, "another network of that name");
}

#[test]
fn later_changes_do_not_postpone_a_pending_status() {
    let (mut times, start) = (StatusTimes::default(), Instant::now());
    let counts = |times: &mut StatusTimes, at| due(times, start, Duration::from_secs(at), Urgency::Counts, &ready());
    assert_eq!(counts(&mut times, 0), COUNTS.as_secs_f64());
    assert_eq!(counts(&mut times, 8), COUNTS.as_secs_f64());
    let begin = due(&mut times, start, Duration::from_secs(8), Urgency::Begin, &status(2, Status::False, PENDING));
    assert_eq!(begin, 8.0 + BEGIN.as_secs_f64(), "what is more urgent comes sooner");
    times.clear_due("blue");
    let node_counts = due(&mut times, start, Duration::ZERO, Urgency::NodeCounts, &ready());
    assert_eq!(node_counts, NODE_COUNTS.as_secs_f64());
    let counts = counts(&mut times, 1);
    assert_eq!(counts, 1.0 + COUNTS.as_secs_f64(), "node counts that wait do not put other counts off");
}
