//! Many attachments of one namespace that cannot be attached do not delay one of another namespace:
//! `USNET_IMPOSSIBLE_ATTACHMENTS` sets their number.

use super::{INTERFACE, assert_nothing_left, attachment, await_ready, status, unplug};
use crate::support::cluster::{apply, check, condition, eventually, eventually_within, get, kubectl};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use usnet_e2e::host::wait::scaled;

/// How long an attachment of another namespace may take: a third of what it took when all waited in
/// one queue. Alone it takes half a second; the test prints what it took beside the others.
const READY: Duration = Duration::from_secs(10);
/// How long the requests may take, which are written one by one. On a machine that does nothing
/// else the whole test takes a minute.
const REQUESTED: Duration = Duration::from_secs(300);
/// How many attachments one call of kubectl creates.
const CHUNK: usize = 100;

fn requested(scene: &Scene) -> usize {
    let state = get(&["usns", NODE]).unwrap_or_default();
    let all = state["spec"]["attachments"].as_array().cloned().unwrap_or_default();
    all.iter().filter(|entry| entry["namespace"] == scene.name.as_str()).count()
}

/// Waits until one of them has this reason; returns its message.
fn await_one(scene: &Scene, reason: &str) -> String {
    eventually(reason, || {
        let all = get(&["usna", "-n", &scene.name]).unwrap_or_default()["items"].take();
        let ready = |object: &Value| condition(object, "Ready").cloned().unwrap_or_default();
        let mut conditions = all.as_array().into_iter().flatten().map(ready);
        let found = conditions.find(|ready| ready["reason"] == reason).ok_or("there is none")?;
        Ok(found["message"].as_str().unwrap_or_default().to_owned())
    })
}

#[test]
#[ignore = "long: make nightly"]
fn another_namespace_does_not_wait_for_hundreds_that_cannot_be_attached() {
    let count = std::env::var("USNET_IMPOSSIBLE_ATTACHMENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(260);
    let (greedy, other) = (Scene::new("greedy"), Scene::new("modest"));
    greedy.network("greedy", &json!({}));
    other.network("modest", &json!({"port": {"type": "Veth"}}));
    start(&greedy, &sleeping_pod(&greedy, "web", "greedy"));
    start(&other, &sleeping_pod(&other, "web", "modest"));
    let alone = plug(&other, "alone");
    unplug(&other, &["alone"]);

    // The network does not select the namespace, which the plugin finds out at each ADD.
    let items: Vec<Value> = (0..count)
        .map(|number| attachment(&greedy, &format!("bad-{number}"), "web", "modest", &format!("bad{number}")))
        .collect();
    for some in items.chunks(CHUNK) {
        apply(&json!({"apiVersion": "v1", "kind": "List", "items": some}));
    }
    let share = count.min(256);
    eventually_within(REQUESTED, "the namespace has its share of the places of the node", || {
        check(requested(&greedy) == share, requested(&greedy).to_string())
    });
    await_one(&greedy, "AttachFailed");
    if count > share {
        let message = await_one(&greedy, "TooManyAttachments");
        println!("{message}");
        assert!(message.contains("greedy has its share") && message.contains("half of what other"), "{message}");
    }

    let beside = plug(&other, "beside");
    println!("Ready after {alone:?} alone, and after {beside:?} beside {count} that cannot be attached");
    assert!(beside < scaled(READY), "{beside:?}");
    assert_eq!(status(&other, "beside")["node"], NODE);
    unplug(&other, &["beside"]);

    let started = Instant::now();
    // All in one request: kubectl deletes five in a second.
    let path = format!("/apis/usnet.dev/v1alpha1/namespaces/{}/userspaceattachments", greedy.name);
    kubectl(&["delete", "--raw", &path]);
    eventually("they are gone", || {
        let left = get(&["usna", "-n", &greedy.name]).unwrap_or_default()["items"].as_array().map_or(0, Vec::len);
        check(left == 0, format!("{left} are left"))
    });
    println!("{count} are deleted after {:?}", started.elapsed());
    assert_nothing_left(&greedy);
    assert_nothing_left(&other);
}

/// Creates one and returns how long it took until it is Ready, calls of kubectl among it.
fn plug(scene: &Scene, name: &str) -> Duration {
    let started = Instant::now();
    apply(&attachment(scene, name, "web", "modest", INTERFACE));
    await_ready(scene, &[name]);
    started.elapsed()
}
