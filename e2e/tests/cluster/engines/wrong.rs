//! What is set up wrongly: each has its reason, with the field or the node, in time.

use super::Engine;
use super::node::BareNode;
use crate::support::cluster::{apply, on_node, try_apply};
use crate::support::images;
use crate::support::kubectl_usnet::usnet;
use crate::support::pods::NODE;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use usnet_e2e::kubernetes::images::openvswitch;

/// In which a condition has to say what is wrong.
const LIMIT: Duration = Duration::from_secs(10);
/// These are measured on two cores that run a cluster.
const SLACK: Duration = Duration::from_secs(20);

/// A wrong set-up, its reason, and words of the message.
type Row = (&'static str, Value, &'static str, [&'static str; 2]);

#[rustfmt::skip]
fn table() -> Vec<Row> {
    let memory = |packets: &str| json!({"memory": {"packets": packets}});
    let hugepages = |packets: &str, size: &str| json!({"memory": {"packets": packets, "hugepages": size}});
    let cpus = |cpus: &Value| json!({"cpus": cpus});
    vec![
        ("no hugepages", hugepages("512Mi", "2Mi"), "InsufficientHugepages", ["spec.memory.packets", "boot parameters"]),
        ("no hugepages of 1 GiB", hugepages("1Gi", "1Gi"), "InsufficientHugepages", ["spec.memory.packets", "boot parameters"]),
        ("more memory than the node has", memory("900Gi"), "InsufficientMemory", ["spec.memory", "use less"]),
        ("more CPUs than the node has", cpus(&json!({"exclusive": 60})), "InsufficientCPUs", ["spec.cpus", "use fewer"]),
        ("no static policy", cpus(&json!({"exclusive": 1})), "CPUsNotExclusive", ["spec.cpus.exclusive", "cpuManagerPolicy"]),
        ("a CPU that is not there", cpus(&json!({"list": "0,900"})), "InsufficientCPUs", ["spec.cpus.list", "900"]),
        ("no driver for PCI devices", json!({"nics": "PCI"}), "DevicesMissing", ["spec.nics", "vfio-pci"]),
        ("no such image", json!({"image": "127.0.0.1:1/none:1"}), "ImageUnavailable", ["127.0.0.1:1/none:1", "cannot get image"]),
        ("an image of others", json!({"image": "busybox:e2e"}), "ImageUnsuitable", ["ovsdb-tool", "spec.image"]),
    ]
}

#[test]
fn each_wrong_set_up_is_named_with_its_remedy() {
    images::import(&openvswitch::archive(&images::settings().cache).unwrap());
    let node = BareNode::without_open_vswitch(NODE, "wrong");
    let engine = Engine::apply("wrong", &json!({}));
    engine.await_ready();
    for (what, changes, reason, words) in table() {
        let begun = Instant::now();
        engine.change(&changes);
        let message = engine.await_condition_within(LIMIT + SLACK, "Ready", "False", reason);
        let after = begun.elapsed().as_secs_f64();
        assert!(words.iter().all(|word| message.contains(word)) && message.contains(NODE), "{what}: {message}");
        println!("engine: {what}: {reason} after {after:.1} s: {message}");
        explained(reason, &changes);
    }
    engine.change(&json!({"cpus": {"list": "0"}}));
    let message = engine.await_condition_within(LIMIT + SLACK, "Ready", "True", "CPUsNotIsolated");
    assert!(message.contains("CPUs 0 of spec.cpus.list") && message.contains("isolcpus=0"), "{message}");
    engine.change(&json!({}));
    engine.await_ready();
    two_objects_for_one_node(&node);
    a_database_that_cannot_be_written(&node, &engine);
}

/// `kubectl usnet explain` names the cause for the object, and for the node how it is prepared.
fn explained(reason: &str, changes: &Value) {
    let of_object = usnet(&["explain", "usne", "wrong"]);
    assert!(of_object.status == 1 && of_object.stdout.contains(reason), "{of_object:?}");
    let of_node = usnet(&["explain", "node", NODE]);
    assert!(of_node.status == 1 && of_node.stdout.contains(reason), "{of_node:?}");
    let memory = &changes["memory"];
    let commands: &[&str] = match reason {
        // Those that the machine has stay.
        "InsufficientHugepages" if memory["hugepages"] == "2Mi" => &["hugepagesz=2M hugepages=", "kubectl drain"],
        "InsufficientHugepages" => &["hugepagesz=1G hugepages=", "kubectl drain"],
        "CPUsNotExclusive" => &["cpuManagerPolicy: static", "rm -f /var/lib/kubelet/cpu_manager_state"],
        _ => &[],
    };
    assert!(commands.iter().all(|command| of_node.stdout.contains(command)), "{commands:?}: {of_node:?}");
}

fn two_objects_for_one_node(node: &BareNode) {
    let mut second = super::manifest("second", &json!({}));
    second["spec"]["nodeSelector"] = json!({"matchLabels": {"wrong": "yes"}});
    apply(&second);
    let second = Engine("second");
    let message = second.await_condition_within(LIMIT + SLACK, "Ready", "False", "NodeTaken");
    assert!(message.contains("UserspaceEngine wrong") && message.contains(node.name), "{message}");
    assert_eq!(node.processes("ovs-vswitchd").len(), 1);
}

/// The folder of the database is made read-only below the engine.
fn a_database_that_cannot_be_written(node: &BareNode, engine: &Engine) {
    on_node(node.name, &["sh", "-c", "rm -f /run/openvswitch/conf.db; mkdir /run/openvswitch/conf.db"]);
    let [server] = node.processes("ovsdb-server").try_into().unwrap();
    on_node(node.name, &["kill", "-9", &server]);
    let message = engine.await_condition_within(LIMIT + SLACK, "Ready", "False", "FilesNotWritable");
    assert!(message.contains("conf.db"), "{message}");
    on_node(node.name, &["rmdir", "/run/openvswitch/conf.db"]);
    engine.await_ready();
}

#[test]
fn the_api_refuses_what_no_node_can_have() {
    for (changes, text) in [
        (json!({"cpus": {}}), "set one of exclusive and list"),
        (json!({"cpus": {"exclusive": 1, "list": "1"}}), "set one of exclusive and list"),
        (json!({"memory": {"packets": "1G"}}), "spec.memory.packets"),
        (json!({"image": ""}), "spec.image"),
        (json!({"idleSleepMicroseconds": 10_001}), "spec.idleSleepMicroseconds"),
    ] {
        let refused = try_apply(&super::manifest("refused", &changes)).unwrap_err();
        assert!(refused.contains(text), "{changes}: {refused}");
    }
}
