//! `UserspaceAttachment`: objects, their conditions, and the state on nodes and in pods.

mod cycles;
mod failures;
mod fairness;
mod ports;

use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, on_node, timeout, try_run};
use crate::support::pods::{NODE, in_pod};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, counters};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The interface that is plugged.
const INTERFACE: &str = "net7";

/// An attachment of a pod.
fn attachment(scene: &Scene, name: &str, pod: &str, network: &str, interface: &str) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": name, "namespace": scene.name},
        "spec": {"pod": pod, "network": network, "interface": interface},
    })
}

/// Creates attachments of [`INTERFACE`], one for each pod and with its name. Returns how long it
/// took until all are Ready.
#[track_caller]
fn plug(scene: &Scene, pods: &[&str], network: &str) -> Duration {
    let started = Instant::now();
    let items: Vec<Value> = pods.iter().map(|pod| attachment(scene, pod, pod, network, INTERFACE)).collect();
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    await_ready(scene, pods);
    started.elapsed()
}

#[track_caller]
fn await_ready(scene: &Scene, names: &[&str]) {
    let objects: Vec<String> = names.iter().map(|name| format!("usna/{name}")).collect();
    let mut arguments = vec!["wait", "--for=condition=Ready", "-n", &scene.name, timeout()];
    arguments.extend(objects.iter().map(String::as_str));
    if let Err(error) = try_run("kubectl", &arguments, "") {
        panic!("{error}\n{}", kubectl(&["get", "usna", "-n", &scene.name, "-o", "yaml"]));
    }
}

/// Waits until an attachment is not ready for this reason; returns the message.
#[track_caller]
fn await_reason(scene: &Scene, name: &str, reason: &str) -> String {
    eventually(&format!("{name} is not ready because of {reason}"), || {
        let object = get(&["usna", name, "-n", &scene.name]).unwrap_or_default();
        let ready = condition(&object, "Ready").cloned().unwrap_or_default();
        check(ready["status"] != "True" && ready["reason"] == reason, format!("{ready}"))?;
        Ok(ready["message"].as_str().unwrap_or_default().to_owned())
    })
}

fn status(scene: &Scene, name: &str) -> Value {
    get(&["usna", name, "-n", &scene.name]).unwrap()["status"].take()
}

/// Deletes attachments, which returns when they are gone.
#[track_caller]
fn unplug(scene: &Scene, names: &[&str]) -> Duration {
    let started = Instant::now();
    let arguments = [&["delete", "usna", "-n", &scene.name, timeout()][..], names].concat();
    kubectl(&arguments);
    started.elapsed()
}

/// The records of interfaces that were plugged into pods of this namespace.
fn plugged(scene: &Scene) -> String {
    let script = format!(
        "grep -ls usnet-attachment- /var/lib/usnet/attachments/* | xargs -r grep -l '\"namespace\":\"{}\"'; true",
        scene.name
    );
    on_node(NODE, &["sh", "-c", &script])
}

#[track_caller]
fn assert_nothing_left(scene: &Scene) {
    assert_eq!(plugged(scene), "");
    let requested = get(&["usns", NODE]).unwrap()["spec"]["attachments"].take();
    let is_ours = |entry: &&Value| entry["namespace"] == scene.name.as_str();
    assert_eq!(requested.as_array().into_iter().flatten().filter(is_ours).count(), 0, "{requested}");
}

/// Starts a DPDK program beside that of a testpmd pod, on [`INTERFACE`].
fn start_program(scene: &Scene, pod: &str, driver: Driver, mode: &str) {
    let device = driver.device(7);
    let program = format!(
        "exec dpdk-testpmd --no-pci --no-huge --no-telemetry --file-prefix=plugged -l 0,1 -m 64 {device} -- \
         --forward-mode={mode} --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall"
    );
    in_pod(scene, pod, &format!("(busybox setsid sh -c '{program}' >/tmp/plugged.log 2>&1 </dev/null &)"));
}

/// The counts of received packets of the program on [`INTERFACE`], one for each second.
fn counted(scene: &Scene, pod: &str) -> Vec<i64> {
    counters(&in_pod(scene, pod, "cat /tmp/plugged.log"))
}

#[track_caller]
fn await_plugged_packets(scene: &Scene, pod: &str) -> i64 {
    eventually("packets on the plugged interface", || {
        let found = counted(scene, pod);
        let last = found.last().copied().unwrap_or_default();
        check(last > 0, in_pod(scene, pod, "tail -n 20 /tmp/plugged.log"))?;
        Ok(last)
    })
}

fn stop_program(scene: &Scene, pod: &str) {
    in_pod(
        scene,
        pod,
        "for p in /proc/[0-9]*; do grep -q file-prefix=[p]lugged $p/cmdline 2>/dev/null && kill -9 ${p#/proc/}; done; true",
    );
}
