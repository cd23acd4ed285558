use super::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use usnet_crds::conditions::reason::{ALL_NODES, PENDING};
use usnet_crds::conditions::{Finding, merge};

fn status(network: &str, generation: i64, ready: Status, reason: &str) -> Write {
    let now = Time(Timestamp::UNIX_EPOCH);
    let conditions = merge(&[], vec![Finding::new(READY, ready, reason, "text")], Some(generation), &now);
    let status = UserspaceNetworkStatus {
        observed_generation: Some(generation),
        conditions,
        ..UserspaceNetworkStatus::default()
    };
    Write::Status { network: network.to_owned(), uid: "1".to_owned(), status: Box::new(status), is_news: true }
}

fn pending(network: &str) -> Write {
    status(network, 1, Status::False, PENDING)
}

/// How many of the writes are let through, and when to come again, in milliseconds since the start.
fn offer(throttle: &mut Throttle, start: Instant, at: u64, writes: &[Write]) -> (usize, Option<u128>) {
    let mut left = writes.to_vec();
    let next = throttle.hold_back(&mut left, start + Duration::from_millis(at));
    (left.len(), next.map(|next| next.duration_since(start).as_millis()))
}

#[test]
fn the_first_status_goes_at_once_and_a_storm_makes_one_a_second() {
    let (mut throttle, start) = (Throttle::default(), Instant::now());
    let written: usize = (0..100).map(|step| offer(&mut throttle, start, step * 50, &[pending("blue")]).0).sum();
    assert_eq!(written, 5, "in five seconds");
    assert_eq!(offer(&mut throttle, start, 5_500, &[pending("blue")]), (1, None));
    assert_eq!(offer(&mut throttle, start, 5_600, &[pending("blue")]), (0, Some(6_500)));
}

#[test]
fn networks_do_not_wait_for_each_other_and_other_writes_never_wait() {
    let (mut throttle, start) = (Throttle::default(), Instant::now());
    assert_eq!(offer(&mut throttle, start, 0, &[pending("blue")]), (1, None));
    let finalizer = Write::Finalizer { network: "blue".to_owned(), uid: "1".to_owned(), present: false };
    let all = [pending("blue"), finalizer, pending("red")];
    assert_eq!(offer(&mut throttle, start, 100, &all), (2, Some(1_000)));
}

#[test]
fn who_waits_for_a_generation_is_told_at_once_and_only_once() {
    let (mut throttle, start) = (Throttle::default(), Instant::now());
    let ready = |generation| [status("blue", generation, Status::True, ALL_NODES)];
    assert_eq!(offer(&mut throttle, start, 0, &[status("blue", 1, Status::Unknown, STARTING)]), (1, None));
    assert_eq!(offer(&mut throttle, start, 10, &[pending("blue")]), (1, None), "the first word does not count");
    assert_eq!(offer(&mut throttle, start, 20, &ready(1)), (1, None));
    assert_eq!(offer(&mut throttle, start, 30, &[pending("blue")]), (0, Some(1_020)));
    assert_eq!(offer(&mut throttle, start, 40, &ready(1)), (0, Some(1_020)), "it was told");
    assert_eq!(offer(&mut throttle, start, 50, &ready(2)), (1, None));
}

#[test]
fn a_new_network_of_an_old_name_starts_anew() {
    let (mut throttle, start) = (Throttle::default(), Instant::now());
    offer(&mut throttle, start, 0, &[pending("blue")]);
    let mut anew = pending("blue");
    if let Write::Status { uid, .. } = &mut anew {
        *uid = "2".to_owned();
    }
    assert_eq!(offer(&mut throttle, start, 10, &[anew]), (1, None));
    throttle.keep(|_| false);
    assert!(throttle.networks.is_empty());
}

#[test]
fn a_status_that_waits_is_released_once_and_the_earliest_is_waited_for() {
    let (mut throttle, start) = (Throttle::default(), Instant::now());
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    offer(&mut throttle, start, 0, &[pending("blue")]);
    offer(&mut throttle, start, 300, &[pending("red")]);
    assert_eq!(offer(&mut throttle, start, 400, &[pending("blue")]), (0, Some(1_000)));
    assert_eq!(offer(&mut throttle, start, 500, &[pending("red")]), (0, Some(1_000)), "blue still waits");
    assert!(throttle.is_waiting("blue") && throttle.is_waiting("red"));
    assert_eq!(throttle.released(at(999)), [""; 0]);
    assert_eq!(throttle.released(at(1_000)), ["blue"]);
    assert_eq!(throttle.released(at(1_000)), [""; 0]);
    assert_eq!(offer(&mut throttle, start, 1_000, &[pending("blue")]), (1, Some(1_300)));
}
