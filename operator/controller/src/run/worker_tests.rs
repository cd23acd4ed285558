//! The gauges follow the statuses that come back, also when nothing else happens afterwards; and
//! how often reservations are decided on.

use super::leader_state::LeaderState;
use super::metrics::Metrics;
use super::worker::Worker;
use crate::cache::parse;
use crate::leader::Role;
use crate::watch::{ObjectEvent, Observer, WatchUpdate};
use crate::{events, legacy};
use kube::Client;
use kube::runtime::watcher::Event;
use prometheus::{Registry, TextEncoder};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::channel;
use tokio::time::{Instant, sleep_until};
use usnet_common::telemetry::Telemetry;

/// A leader that has listed an empty cluster, and whose requests fail.
fn leader(registry: &Registry) -> Worker {
    let service = tower::service_fn(|_| async {
        Err::<http::Response<kube::client::Body>, tower::BoxError>("no API server".into())
    });
    let client = Client::new(service, "default");
    let metrics = Arc::new(Metrics::register(registry).unwrap());
    let mut worker = Worker {
        watcher: client.clone(),
        writer: client,
        roles: channel(Role::Leader).1,
        legacy: legacy::Options::default(),
        has_attachments: false,
        event_recorder: events::queue(metrics.dropped_events()).0,
        metrics,
        claimable: channel(None).0,
        telemetry: Arc::new(Telemetry::default()),
        observer: Observer::default(),
        state: LeaderState::default(),
        is_leader: true,
    };
    let lists = [
        ObjectEvent::Network(Box::new(Event::InitDone)),
        ObjectEvent::Compiled(Event::InitDone),
        ObjectEvent::Namespace(Event::InitDone),
        ObjectEvent::Node(Event::InitDone),
        ObjectEvent::NodeState(Event::InitDone),
        ObjectEvent::NodeSlice(Event::InitDone),
        ObjectEvent::Uplink(Box::new(Event::InitDone)),
        ObjectEvent::Reservation(Box::new(Event::InitDone)),
    ];
    lists.into_iter().for_each(|list| worker.observe(WatchUpdate::found(1, list)));
    worker
}

/// The network with a status that this or another controller has written.
fn network(version: u64, ready: &str) -> WatchUpdate {
    let condition = json!({
        "type": "Ready", "status": ready, "reason": "Tested", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let object = json!({
        "metadata": {"name": "blue", "uid": "blue-uid", "generation": 1},
        "spec": {"engine": "OVS"},
        "status": {"conditions": [condition]},
    });
    let network = parse::network(&serde_json::from_str(&object.to_string()).unwrap());
    WatchUpdate::found(version, ObjectEvent::Network(Box::new(Event::Apply(network))))
}

/// Does what is due within the next second, as the event loop does when no event arrives.
async fn pass_a_second(worker: &mut Worker) {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        worker.work();
        let wake = worker.next_wake(Instant::now()).unwrap_or(end);
        sleep_until(wake.max(Instant::now() + Duration::from_millis(1)).min(end)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn gauges_count_a_status_within_a_second_when_nothing_happens_after_it() {
    let registry = Registry::new();
    let mut worker = leader(&registry);
    let exported = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    for (version, ready, state) in [(2, "True", "Ready"), (3, "False", "Working"), (4, "True", "Ready")] {
        // Counted a moment before the status comes back.
        worker.work();
        worker.observe(network(version, ready));
        pass_a_second(&mut worker).await;
        for line in [
            format!("usnet_controller_network_state{{network=\"blue\",state=\"{state}\"}} 1\n"),
            format!("usnet_controller_networks{{state=\"{state}\"}} 1\n"),
        ] {
            assert!(exported().contains(&line), "no {line} in {}", exported());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_counted_while_nothing_changes() {
    let mut worker = leader(&Registry::new());
    pass_a_second(&mut worker).await;
    let counted = worker.state.measure_at;
    pass_a_second(&mut worker).await;
    assert_eq!((worker.state.measure_at, worker.state.is_measured), (counted, true));
    assert!(worker.next_wake(Instant::now()).is_none(), "it wakes for nothing");
    // Nothing else has to happen after what is observed.
    worker.state.is_measured = false;
    assert_eq!(worker.next_wake(Instant::now()), counted);
}

/// Each decision may be a write that all nodes read, and any tenant can change reservations.
#[tokio::test(start_paused = true)]
async fn reservations_are_decided_on_at_once_and_then_every_five_seconds() {
    let mut worker = leader(&Registry::new());
    let reservation = |name: &str| {
        let object = json!({
            "metadata": {"name": name, "namespace": "team-a", "uid": name}, "spec": {"network": "blue", "pod": name},
        });
        let reservation = parse::reservation(&serde_json::from_str(&object.to_string()).unwrap());
        WatchUpdate::found(2, ObjectEvent::Reservation(Box::new(Event::Apply(reservation))))
    };
    let decided = |worker: &mut Worker| worker.observer.cache().reservations.decided.get("blue").map(|all| all.len());
    worker.observe(reservation("first"));
    pass_a_second(&mut worker).await;
    assert_eq!(decided(&mut worker), Some(1));
    worker.observe(reservation("second"));
    for _ in 0..4 {
        pass_a_second(&mut worker).await;
        assert_eq!(decided(&mut worker), Some(1));
    }
    pass_a_second(&mut worker).await;
    assert_eq!(decided(&mut worker), Some(2));
}
