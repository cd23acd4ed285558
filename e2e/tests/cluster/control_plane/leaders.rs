//! Two controllers, of which only the leader writes, are killed, stopped and shut down.

use crate::support::cluster::{check, eventually, kubectl};
use crate::support::control_plane::audit;
use crate::support::control_plane::controllers::{NAMESPACE, await_both, leader, lease, process, signal};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a leader is stopped: longer than the lease and than all that the controller waits for
/// (30 s), and shorter than its liveness probe allows.
const STOPPED: Duration = Duration::from_secs(35);
/// The time limit for a new leader after the loss of the previous one.
const TAKEOVER: Duration = Duration::from_secs(15);

/// Waits until a controller has acquired the lease since `transitions`, prints how long that took
/// and gives the lease.
fn await_takeover(what: &str, transitions: &Value, since: Instant) -> Value {
    let lease = eventually(&format!("another leads after the leader was {what}"), || {
        let lease = lease();
        check(lease["leaseTransitions"] != *transitions && !lease["holderIdentity"].is_null(), lease.to_string())?;
        Ok(lease)
    });
    let took = since.elapsed();
    println!("leader {what}: another leads after {} ms", took.as_millis());
    assert!(took <= TAKEOVER, "{took:?}");
    lease
}

/// What the API server let the controller of this pod write since then, but for the lease itself:
/// one line for each request.
fn writes_of(pod: &str, since: &str) -> Vec<String> {
    let events = audit::since(since).into_iter().filter(|event| audit::is_write(event) && audit::is_from(event, pod));
    events.map(|event| format!("{} {} {}", audit::received(&event), event["verb"], event["objectRef"])).collect()
}

#[test]
fn a_stopped_leader_is_replaced_and_writes_nothing_when_it_continues() {
    let scene = Scene::new("stopped");
    await_both();
    let (old, before) = (leader(), lease());
    let pid = process(&old);
    let stopped = Instant::now();
    signal("-STOP", &pid);
    let taken = await_takeover("stopped", &before["leaseTransitions"], stopped);
    assert_ne!(taken["holderIdentity"], *old);
    scene.network("stopped", &json!({}));

    eventually("the time is over", || check(stopped.elapsed() > STOPPED, format!("{:?}", stopped.elapsed())));
    // It wakes with work to do: the network that it has not seen, and changes that go on.
    signal("-CONT", &pid);
    for mtu in [1400, 1300, 1200] {
        scene.apply_network("stopped", &json!({"bridge": {"mtu": mtu}}));
        wait_ready("stopped");
    }
    eventually("the old leader knows", || {
        let log = kubectl(&["logs", &old, "-n", NAMESPACE]);
        check(log.contains("lost leadership"), log)
    });
    let written = writes_of(&old, taken["acquireTime"].as_str().unwrap());
    assert!(written.is_empty(), "written by the old leader: {written:#?}");
    assert_eq!(lease()["holderIdentity"], taken["holderIdentity"], "it leads no more");
    let new = taken["holderIdentity"].as_str().unwrap();
    assert!(!writes_of(new, taken["acquireTime"].as_str().unwrap()).is_empty(), "the log shows who writes");
}

#[test]
fn a_leader_that_is_killed_is_replaced() {
    let scene = Scene::new("killed");
    await_both();
    let (old, before) = (leader(), lease());
    let killed = Instant::now();
    signal("-KILL", &process(&old));
    // Its pod restarts at once, and may well be the next leader.
    await_takeover("killed", &before["leaseTransitions"], killed);
    scene.network("killed", &json!({}));
    await_both();
}

#[test]
fn a_leader_that_shuts_down_releases_the_lease() {
    let scene = Scene::new("ended");
    await_both();
    let (old, before) = (leader(), lease());
    kubectl(&["delete", "pod", &old, "-n", NAMESPACE, "--wait=false"]);
    let ended = Instant::now();
    let taken = await_takeover("deleted", &before["leaseTransitions"], ended);
    assert_ne!(taken["holderIdentity"], *old);
    scene.network("ended", &json!({}));
    await_both();
}
