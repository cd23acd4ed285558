//! Each test has a state of UserspaceEngine ovs with one problem, and the cause that is found.

use super::report as report_of;
use crate::commands::explain::finding::Report;
use crate::commands::explain::text::text;
use crate::model::Snapshot;
use crate::model::testing::{
    add, add_network, condition, engine_object, merge, network_object, network_report, snapshot, state_object,
};
use serde_json::{Value, json};

/// The cluster with this change of UserspaceEngine ovs.
fn with(change: &Value) -> Snapshot {
    let mut snapshot = snapshot();
    let mut engine = engine_object("ovs", &json!({}));
    merge(&mut engine, change);
    add(&mut snapshot, &engine);
    snapshot
}

/// Conditions of ovs with this status of Ready, and this one of Updated.
fn conditions(ready: &Value, updated: &Value) -> Value {
    json!({"status": {"conditions": [ready, updated]}})
}

fn up_to_date() -> Value {
    condition("Updated", "True", "UpToDate", "no node has to be restarted")
}

fn running() -> Value {
    condition("Ready", "True", "EngineRunning", "the engine runs on 2 nodes")
}

/// The agent of a node is not connected to Open vSwitch.
fn down(snapshot: &mut Snapshot, node: &str, reason: &str, message: &str) {
    let mut state = state_object(node, &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", reason, message);
    state["status"]["engines"] = json!([]);
    add(snapshot, &state);
}

fn report(snapshot: &Snapshot) -> Report {
    report_of(snapshot, "ovs", &snapshot.engines["ovs"])
}

/// The causes with which the engine runs.
const WARNINGS: &[&str] = &["NoNodeSelected", "RestartNeeded", "UpdatePaused"];

#[track_caller]
fn check(snapshot: &Snapshot, cause: &str, words: &[&str]) {
    let report = report(snapshot);
    let causes: Vec<_> = report.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, [cause], "{}", text(&report));
    assert_eq!(report.is_ok(), WARNINGS.contains(&cause), "{}", text(&report));
    for word in words {
        assert!(text(&report).contains(word), "no {word:?} in\n{}", text(&report));
    }
}

#[test]
fn an_engine_that_runs_has_no_cause_and_says_what_it_asks_for() {
    let mut snapshot = with(&json!({}));
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    add_network(&mut snapshot, &network_object("green", &json!({"engine": "VPP"})));
    let reports = ["blue", "green"].map(|name| network_report(name, "Programmed", &json!({"attachments": 2})));
    add(&mut snapshot, &state_object("node-a", &json!(reports)));
    let report = report(&snapshot);
    assert_eq!(report.findings, [], "{}", text(&report));
    assert_eq!(report.state, "Ready=True (EngineRunning), runs on 2/2 nodes, on 2 with the current spec");
    let row = |node: &str, interfaces: &str| [node, "Running", interfaces, "3.1.0", ""].map(str::to_owned);
    assert_eq!(report.parts.rows, [row("node-a", "2"), row("node-b", "0")]);
    assert_eq!(
        report.asks_for,
        [
            "engine: Open vSwitch of image usnet-openvswitch:test, on nodes with rack=a",
            "memory: 1Gi for packets in ordinary memory, 512Mi for everything else",
            "CPUs: those of the node, with other pods, asleep for 200 µs at a time without packets",
            "NICs: those of Linux",
            "update: 1 node at a time",
        ]
    );
}

#[test]
fn a_spec_is_told_in_words() {
    let spec = json!({
        "nodeSelector": null, "memory": {"packets": "2Gi", "hugepages": "1Gi"}, "cpus": {"list": "3,2,6"}, "nics": "PCI",
        "idleSleepMicroseconds": 0, "update": {"maxUnavailable": 2},
    });
    let found = text(&report(&with(&json!({"spec": spec}))));
    for words in [
        "on all nodes",
        "2Gi for packets in hugepages of 1Gi",
        "2-3,6, which the administrator keeps free, used whole",
        "PCI devices that UserspaceUplinks",
        "2 nodes at a time",
    ] {
        assert!(found.contains(words), "no {words:?} in\n{found}");
    }
    let exclusive = text(&report(&with(&json!({"spec": {"cpus": {"exclusive": 2}, "update": {"paused": true}}}))));
    assert!(exclusive.contains("2 that kubelet gives to no other pod") && exclusive.contains("paused"), "{exclusive}");
}

#[test]
fn engines_that_no_controller_reads() {
    check(
        &with(&json!({"metadata": {"generation": 2}})),
        "NotObserved",
        &["has not read the last change", "kubectl logs"],
    );
    let waiting = condition("Ready", "Unknown", "WaitingForController", "");
    let unseen = json!({"status": {"observedGeneration": null, "conditions": [waiting]}});
    check(&with(&unseen), "NotObserved", &["no controller of engines has seen it", "config/components/engines"]);
}

#[test]
fn specs_that_are_invalid() {
    let invalid = with(&json!({"spec": {"memory": {"packets": "64Mi"}}}));
    check(&invalid, "Invalid", &["spec.memory.packets: 64Mi is too little", "go on with the spec before it"]);
}

#[test]
fn selectors_that_match_no_node() {
    let nowhere = json!({"matchLabels": {"rack": "z"}});
    check(&with(&json!({"spec": {"nodeSelector": nowhere}})), "NoNodeSelected", &["(rack=z) matches no node"]);
}

#[test]
fn nodes_that_fail_are_grouped_with_the_way_to_prepare_them() {
    let message = "spec.memory.packets is 1Gi in hugepages of 2Mi, and the node has 0Gi free";
    let ready = condition("Ready", "False", "InsufficientHugepages", message);
    let mut change = conditions(&ready, &up_to_date());
    let problem = |node: &str| json!({"node": node, "reason": "InsufficientHugepages", "message": message});
    change["status"]["problems"] = json!([problem("node-a"), problem("node-b"), problem("gone")]);
    let words = ["of 3 nodes: node-a, node-b, gone", "0Gi free", "kubectl usnet explain node node-a has the commands"];
    check(&with(&change), "InsufficientHugepages", &words);
}

#[test]
fn a_node_says_why_its_engine_fails_before_the_controller_does() {
    let ready = condition("Ready", "False", "EngineStarting", "it runs on 1 of 2 nodes");
    let mut snapshot = with(&conditions(&ready, &up_to_date()));
    down(&mut snapshot, "node-b", "EngineFails", "UserspaceEngine ovs: ovsdb-server ended");
    check(&snapshot, "EngineFails", &["of 1 node: node-b", "ovsdb-server ended", "see the log of the pod"]);
}

#[test]
fn engines_that_are_being_started() {
    let ready =
        condition("Ready", "False", "EngineStarting", "it runs on 1 of 2 nodes, and is being started on node-b");
    let mut snapshot = with(&conditions(&ready, &up_to_date()));
    down(&mut snapshot, "node-b", "NeverSeen", "no socket");
    check(&snapshot, "EngineStarting", &["of 1 node: node-b", "wait a few seconds", "node-b  Pending"]);
}

#[test]
fn updates_say_how_far_they_are_and_what_they_wait_for() {
    let change = |reason: &str, message: &str, rest: &Value| {
        let mut change = conditions(&running(), &condition("Updated", "False", reason, message));
        merge(&mut change, rest);
        merge(&mut change, &json!({"status": {"nodes": {"updated": 1}}}));
        change
    };
    let mut snapshot = with(&change("RestartNeeded", "1 nodes have to be restarted", &json!({})));
    check(&snapshot, "RestartNeeded", &["1 of 2 nodes have the current spec: 1 nodes have to be restarted\n"]);
    down(&mut snapshot, "node-b", "EngineStarting", "");
    check(&snapshot, "RestartNeeded", &["fewer than 1 (spec.update.maxUnavailable)", "does not run on node-b"]);
    let paused = change("UpdatePaused", "spec.update.paused is true", &json!({"spec": {"update": {"paused": true}}}));
    check(&with(&paused), "UpdatePaused", &["spec.update.paused to false"]);
    let stopped = change("UpdateStopped", "node node-a does not run with the current spec", &json!({}));
    check(&with(&stopped), "UpdateStopped", &["node node-a does not run", "correct the spec"]);
}

#[test]
fn pods_that_keep_a_deletion_are_named_on_each_node() {
    let blocked = condition("DeletionBlocked", "True", "InUse", "2 interfaces of pods are attached: delete web/dpdk-0");
    let ready = condition("Ready", "False", "Terminating", "it waits for pods to be deleted");
    let mut change = conditions(&ready, &up_to_date());
    change["status"]["conditions"].as_array_mut().unwrap().push(blocked);
    change["metadata"] = json!({"deletionTimestamp": "1970-01-01T00:40:00Z"});
    let mut snapshot = with(&change);
    check(&snapshot, "InUse", &["2 interfaces of pods are attached", "being deleted"]);
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    for (node, pod) in [("node-a", "web/dpdk-0"), ("node-b", "web/dpdk-1")] {
        let report = network_report("blue", "Programmed", &json!({"attachments": 1, "pods": [pod]}));
        add(&mut snapshot, &state_object(node, &json!([report])));
    }
    check(&snapshot, "InUse", &["on node-a: web/dpdk-0; on node-b: web/dpdk-1", "delete these pods"]);
}

#[test]
fn what_is_not_known_here_is_told_in_the_words_of_the_controller() {
    let ready = condition("Ready", "False", "OfALaterRelease", "something else");
    check(&with(&conditions(&ready, &up_to_date())), "OfALaterRelease", &["something else", "docs/errors.md"]);
}
