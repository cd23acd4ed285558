//! Updates of an engine under traffic, node by node: three nodes in `make engines`, two otherwise.

use super::node::BareNode;
use super::traffic::Traffic;
use super::{Engine, is_long, pod_on};
use crate::support::cluster::{check, eventually, kubectl, nodes as node_names, on_node};
use crate::support::images;
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;
use usnet_e2e::kubernetes::images::names::OPENVSWITCH_IMAGE;
use usnet_e2e::kubernetes::images::openvswitch;

const SECOND_IMAGE: &str = "openvswitch:e2e-second";

#[test]
fn an_update_restarts_one_node_after_the_other_and_stops_at_a_failure() {
    images::import(&openvswitch::archive(&images::settings().cache).unwrap());
    let reference = |image: &str| format!("docker.io/library/{image}");
    for node in node_names() {
        let tag = ["ctr", "--namespace=k8s.io", "images", "tag", "--force"];
        on_node(node, &[&tag[..], &[&reference(OPENVSWITCH_IMAGE), &reference(SECOND_IMAGE)]].concat());
    }
    let nodes: Vec<BareNode> =
        node_names().into_iter().map(|name| BareNode::without_open_vswitch(name, "updates")).collect();
    let engine = Engine::apply("updates", &json!({}));
    let scene = Scene::new("updates");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.62.0.0/24"}]]});
    let selector = json!({"matchLabels": {"updates": "yes"}});
    scene.apply_network("updates", &json!({"port": {"type": "Veth"}, "ipam": ipam, "nodeSelector": selector}));
    engine.await_ready();
    let traffic = Traffic::start(&scene, "updates", &node_names());

    a_setting_that_applies_at_once_restarts_nothing(&engine, &nodes);
    update("another image", &engine, &nodes, &traffic, &json!({"image": SECOND_IMAGE}));
    for node in &nodes {
        let pod = pod_on("updates", node.name).unwrap();
        assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1, "the same pod has the image: {pod}");
    }
    if is_long() {
        update("the image before", &engine, &nodes, &traffic, &json!({}));
    }
    update("more memory", &engine, &nodes, &traffic, &json!({"memory": {"packets": "512Mi", "process": "520Mi"}}));
    an_image_that_cannot_be_used_restarts_nothing(&engine, &nodes);
    what_fails_on_one_node_reaches_no_other(&engine, &nodes);
    traffic.stop();
}

/// The processes of the switches, by node.
fn switches(nodes: &[BareNode]) -> Vec<Vec<String>> {
    nodes.iter().map(|node| node.processes("ovs-vswitchd")).collect()
}

/// kubelet brings the new settings within two minutes; the pods are changed to make it faster.
fn a_setting_that_applies_at_once_restarts_nothing(engine: &Engine, nodes: &[BareNode]) {
    let before = switches(nodes);
    engine.change(&json!({"idleSleepMicroseconds": 300}));
    engine.await_condition("Updated", "True", "UpToDate");
    kubectl(&["annotate", "pods", "-n", "usnet-engines", "-l", "usnet.dev/userspace-engine=updates", "test=1"]);
    eventually("the new setting", || {
        let set =
            crate::support::cluster::vsctl(nodes[0].name, &["get", "Open_vSwitch", ".", "other_config:pmd-maxsleep"]);
        check(set == "\"300\"", set)
    });
    assert_eq!(switches(nodes), before, "no switch was restarted");
}

/// Changes the spec, and counts the packets of each node until all have it.
fn update(what: &str, engine: &Engine, nodes: &[BareNode], traffic: &Traffic<'_>, changes: &Value) {
    let (counted, begun) = (traffic.begin(), Instant::now());
    let before = switches(nodes);
    engine.change(changes);
    let (mut ready, mut order) = (BTreeSet::new(), Vec::new());
    let number = u64::try_from(nodes.len()).unwrap();
    eventually("all nodes are updated", || {
        ready.insert(nodes.iter().filter(|node| is_ready(node.name)).count());
        let switches = switches(nodes);
        for ((node, before), now) in nodes.iter().zip(&before).zip(&switches) {
            if before != now && !order.contains(&node.name) {
                order.push(node.name);
            }
        }
        let object = engine.get();
        let (status, updated) = (&object["status"], &object["status"]["nodes"]);
        check(status["observedGeneration"] == object["metadata"]["generation"], status.to_string())?;
        check(updated["updated"] == number && updated["running"] == number, object["status"].to_string())
    });
    assert!(ready.iter().all(|ready| *ready + 1 >= nodes.len()), "two nodes were restarted at once: {ready:?}");
    engine.await_condition("Updated", "True", "UpToDate");
    engine.await_ready();
    println!(
        "engine: {what}: all nodes after {:.1} s, in the order {}",
        begun.elapsed().as_secs_f64(),
        order.join(", ")
    );
    for (node, sample) in traffic.end(&counted) {
        let lost = sample.lost.unwrap_or_default();
        println!(
            "engine: {what}: {node}: {:.2} s without packets, {lost} of {} lost",
            sample.gap.as_secs_f64(),
            sample.packets
        );
        assert!(lost > 0, "the switch of {node} was restarted");
    }
}

fn is_ready(node: &str) -> bool {
    let pod = pod_on("updates", node);
    let conditions = pod.as_ref().and_then(|pod| pod["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == "Ready" && it["status"] == "True"))
}

/// The node fetches the image and looks at it before the engine is restarted.
fn an_image_that_cannot_be_used_restarts_nothing(engine: &Engine, nodes: &[BareNode]) {
    let before = switches(nodes);
    let images = [("busybox:e2e", "ImageUnsuitable"), ("127.0.0.1:1/nowhere:1", "ImageUnavailable")];
    for (image, reason) in images.into_iter().take(if is_long() { 2 } else { 1 }) {
        engine.change(&json!({"image": image, "memory": {"packets": "512Mi", "process": "520Mi"}}));
        let message = engine.await_condition("Ready", "False", reason);
        assert!(message.contains(image), "{message}");
        engine.await_condition("Updated", "False", "UpdateStopped");
        assert_eq!(switches(nodes), before, "no switch was restarted for {image}");
        assert_eq!(engine.get()["status"]["nodes"]["running"], nodes.len(), "{image}");
    }
    engine.change(&json!({"memory": {"packets": "512Mi", "process": "520Mi"}}));
    engine.await_ready();
    assert_eq!(switches(nodes), before);
}

fn what_fails_on_one_node_reaches_no_other(engine: &Engine, nodes: &[BareNode]) {
    let before = switches(nodes);
    engine.change(&json!({"memory": {"packets": "900Gi", "process": "520Mi"}}));
    let message = engine.await_condition("Updated", "False", "UpdateStopped");
    let is_named = |node: &BareNode| message.starts_with(&format!("node {} cannot run", node.name));
    let failing = nodes.iter().position(is_named).unwrap_or_else(|| panic!("{message}"));
    engine.await_condition("Ready", "False", "InsufficientMemory");
    let others = |switches: Vec<Vec<String>>| {
        let of_others = switches.into_iter().enumerate().filter(|(place, _)| *place != failing);
        of_others.map(|(_, processes)| processes).collect::<Vec<_>>()
    };
    assert_eq!(others(switches(nodes)), others(before.clone()), "the other nodes go on");

    engine.change(&json!({"memory": {"packets": "512Mi", "process": "520Mi"}}));
    engine.await_ready();
    engine.await_condition("Updated", "True", "UpToDate");
    assert_eq!(others(switches(nodes)), others(before), "the other nodes never noticed");
}
