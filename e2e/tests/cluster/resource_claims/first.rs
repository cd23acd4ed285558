//! The first pod of a network, applied together with it, at moments when kubelet may not have the
//! driver. Kubelet repeats a call that it could not make only after some 90 s.

use super::{await_device, claiming_pod, devices_of, is_supported, network_on_node, template};
use crate::support::cluster::{apply, check, eventually, kubectl, on_node};
use crate::support::pods::{NODE, wait_running};
use crate::support::scene::{Scene, agent_pod};
use serde_json::Value;
use std::time::Instant;

/// What kubelet says of a driver that it would have to call.
const NOT_REGISTERED: &str = "is not registered";
const REGISTRATION: &str = "/var/lib/kubelet/plugins_registry/dra@usnet.dev-reg.sock";

/// Waits for a pod that kubelet must have been able to prepare at its first attempt.
fn await_prepared_at_once(scene: &Scene, pod: &str, since: Instant) {
    wait_running(scene, pod);
    println!("{pod}: Ready after {:.1} s", since.elapsed().as_secs_f64());
    let events = scene.events(pod);
    assert!(!events.contains(NOT_REGISTERED), "it was placed before kubelet had the driver: {events}");
}

/// Applies a network, the template of its claims and a pod, as the documentation prints them.
fn apply_together(scene: &Scene, name: &str) {
    let since = Instant::now();
    scene.apply_network(name, &network_on_node("OVS", 8));
    template(scene, name, name, &Value::Null);
    apply(&claiming_pod(scene, name, name));
    await_prepared_at_once(scene, name, since);
}

#[test]
fn a_pod_is_placed_only_where_kubelet_has_the_driver() {
    if !is_supported() {
        return;
    }
    let scene = Scene::new("claimfirst");
    apply_together(&scene, "claimfirst-a");

    // The devices of an agent that ends go with it, and those of the next one come when kubelet has
    // registered it: until then pods wait, and are not placed.
    kubectl(&["delete", "pod", &agent_pod(NODE), "-n", "usnet-system", "--wait=false"]);
    eventually("the agent withdraws the devices", || {
        let found = devices_of(NODE, "claimfirst-a");
        check(found.is_empty(), format!("{found:?}"))
    });
    let since = Instant::now();
    apply(&claiming_pod(&scene, "known", "claimfirst-a"));
    apply_together(&scene, "claimfirst-b");
    await_prepared_at_once(&scene, "known", since);

    // Without the socket kubelet forgets the driver.
    let before = identity();
    on_node(NODE, &["rm", "-f", REGISTRATION]);
    eventually("the agent listens again", || {
        let now = identity();
        check(!now.is_empty() && now != before, format!("{before} and {now}"))
    });
    await_device(NODE, "claimfirst-a");
    let since = Instant::now();
    apply(&claiming_pod(&scene, "later", "claimfirst-a"));
    await_prepared_at_once(&scene, "later", since);
}

/// Distinguishes the socket of the registration from a later one; empty if there is none.
fn identity() -> String {
    on_node(NODE, &["sh", "-c", &format!("stat -c '%i %z' {REGISTRATION} 2>/dev/null; true")])
}
