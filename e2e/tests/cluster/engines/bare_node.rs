//! From a node without an engine to packets between DPDK pods.

use super::node::{BareNode, processes};
use super::{Engine, is_long, pod_on};
use crate::support::cluster::{NODES, check, condition, eventually, eventually_within, get, kubectl, on_node, run};
use crate::support::images;
use crate::support::kubectl_usnet::bundle;
use crate::support::pods::{NODE, await_packets, received, wait_running};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, Program};
use crate::support::{cluster, pods};
use serde_json::json;
use std::time::{Duration, Instant};
use usnet_e2e::kubernetes::images::openvswitch;

#[test]
fn a_node_without_an_engine_gets_one_and_loses_it_with_the_object() {
    images::import(&openvswitch::archive(&images::settings().cache).unwrap());
    let node = BareNode::without_open_vswitch(NODE, "bare");
    let begun = Instant::now();
    let engine = Engine::apply("bare", &json!({}));
    let scene = Scene::new("bare");
    // Networks and pods may be created before there is an engine: all becomes ready together.
    scene.apply_network("bare", &json!({"nodeSelector": {"matchLabels": {"bare": "yes"}}}));
    let program = Program { driver: Driver::VhostServer, mode: "flowgen", reconnects: true };
    for pod in ["left", "right"] {
        cluster::apply(&pods::dpdk_pod(&scene, pod, "bare", program));
    }
    engine.await_ready();
    println!("engine: ready after {:.1} s", begun.elapsed().as_secs_f64());
    for pod in ["left", "right"] {
        wait_running(&scene, pod);
        await_packets(&scene, pod, 1);
    }
    println!("engine: packets in both pods after {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(engine.get()["status"]["nodes"], json!({"selected": 1, "running": 1, "updated": 1, "summary": "1/1"}));

    a_bundle_has_engine_and_logs(&node);
    a_killed_process_is_back(&scene, &node);
    a_killed_supervisor_is_back_with_its_engine(&scene, &node);
    a_process_that_hangs_is_killed(&scene, &node);
    an_engine_of_others_is_left_alone_until_it_ends(&engine);
    it_ends_only_without_pods(&scene, &engine, &node);
}

fn a_bundle_has_engine_and_logs(node: &BareNode) {
    let pod = pod_on("bare", node.name).unwrap();
    let (_, files) = bundle();
    let text = |name: &str| files.get(name).unwrap_or_else(|| panic!("{name} is not in {:?}", files.keys()));
    assert!(text("cluster/userspaceengines.yaml").contains("bare"));
    let name = pod["metadata"]["name"].as_str().unwrap();
    assert!(text("cluster/pods-of-engines.yaml").contains(name));
    assert!(!text(&format!("logs/{name}/engine.log")).is_empty());
}

/// What takes longer waited for a time limit: 3 s are usual, and ten times as many where other test
/// beds run.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// The supervisor starts a process again that ended, and the pod is not restarted.
fn a_killed_process_is_back(scene: &Scene, node: &BareNode) {
    for program in ["ovs-vswitchd", "ovsdb-server"] {
        let before = node.processes(program);
        let [process] = before.as_slice() else { panic!("{program}: {before:?}") };
        let killed = Instant::now();
        on_node(node.name, &["kill", "-9", process]);
        await_another(scene, node, program, &before);
        println!(
            "engine: {program} killed; packets again after {:.1} s, by the last output of the pod",
            killed.elapsed().as_secs_f64()
        );
    }
    let pod = pod_on("bare", node.name).unwrap();
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 0, "{pod}");
}

/// Waits until both the process and the packets of a pod are others than before.
fn await_another(scene: &Scene, node: &BareNode, program: &str, before: &[String]) {
    let counted = received(scene, "left");
    eventually("another process", || {
        let now = node.processes(program);
        check(now.len() == 1 && now != before, format!("{now:?}"))
    });
    eventually_within(BACK_WITHIN, "packets again", || {
        let now = received(scene, "left");
        // The counters of the pod go on.
        check(now.iter().zip(&counted).all(|(now, then)| now > &(then + 1)), format!("{now:?} {counted:?}"))
    });
}

/// kubelet starts the container again, whose first process ended.
fn a_killed_supervisor_is_back_with_its_engine(scene: &Scene, node: &BareNode) {
    let before = node.processes("ovs-vswitchd");
    let [switch] = before.as_slice() else { panic!("{before:?}") };
    let supervisor = on_node(node.name, &["ps", "-o", "ppid=", "-p", switch]);
    let killed = Instant::now();
    on_node(node.name, &["kill", "-9", supervisor.trim()]);
    await_another(scene, node, "ovs-vswitchd", &before);
    println!("engine: supervisor killed; packets again after {:.1} s", killed.elapsed().as_secs_f64());
    let pod = pod_on("bare", node.name).unwrap();
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1, "{pod}");
}

/// A minute passes until it is: only in `make engines`.
fn a_process_that_hangs_is_killed(scene: &Scene, node: &BareNode) {
    if !is_long() {
        return;
    }
    let before = node.processes("ovs-vswitchd");
    let [switch] = before.as_slice() else { panic!("{before:?}") };
    let stopped = Instant::now();
    on_node(node.name, &["kill", "-STOP", switch]);
    await_another(scene, node, "ovs-vswitchd", &before);
    println!("engine: ovs-vswitchd hung; packets again after {:.1} s", stopped.elapsed().as_secs_f64());
}

/// The other node has the switch of the test bed.
fn an_engine_of_others_is_left_alone_until_it_ends(engine: &Engine) {
    let other = NODES[1];
    let process = || processes(other, "ovs-vswitchd");
    let before = process();
    // Packets may be there before the probe has looked.
    engine.await_ready();
    kubectl(&["label", "node", other, "bare=yes"]);
    let message = engine.await_condition("Ready", "False", "EngineForeign");
    assert!(message.starts_with(&format!("node {other}: ")) && message.contains("spec.nodeSelector"), "{message}");
    assert_eq!(engine.get()["status"]["nodes"]["summary"], "1/2");
    let state = get(&["userspacenodestate", other]).unwrap();
    assert_eq!(condition(&state, "OVSConnected").unwrap()["status"], "True", "the agent has its switch");
    assert_eq!(process(), before);

    for component in ["ovs-vswitchd", "ovsdb-server"] {
        run("component", &["stop", component, other]);
    }
    let stopped = Instant::now();
    engine.await_ready();
    println!("engine: an engine of others ended; that of usnet runs after {:.1} s", stopped.elapsed().as_secs_f64());
    assert_eq!(engine.get()["status"]["nodes"]["summary"], "2/2");
    kubectl(&["label", "node", other, "bare-"]);
    eventually("the engine of usnet has ended", || {
        let left = [process(), processes(other, "ovsdb-server")].concat();
        check(left.is_empty(), left.join(" "))
    });
    for component in ["ovsdb-server", "ovs-vswitchd"] {
        run("component", &["start", component, other]);
    }
    engine.await_ready();
}

fn it_ends_only_without_pods(scene: &Scene, engine: &Engine, node: &BareNode) {
    kubectl(&["delete", "userspaceengine", "bare", "--wait=false"]);
    let message = engine.await_condition("DeletionBlocked", "True", "InUse");
    assert!(message.contains("bare/left") && message.contains("bare/right"), "{message}");
    assert_eq!(node.processes("ovs-vswitchd").len(), 1);
    scene.delete_pods(["left", "right"]);
    engine.delete();
    eventually("nothing of it runs", || {
        let left = [node.processes("ovs-vswitchd"), node.processes("ovsdb-server")].concat();
        check(left.is_empty() && pod_on("bare", node.name).is_none(), left.join(" "))
    });
    let left = on_node(node.name, &["sh", "-c", "ls /run/usnet/engines/*.json 2>/dev/null || true"]);
    assert_eq!(left, "", "the report of the supervisor");
}
