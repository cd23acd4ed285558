//! Many kinds of changes: each is planned, then applied under traffic, and the plan is compared
//! with the histories of the nodes and with the lost packets.

use super::super::{list, text};
use super::plan;
use crate::support::cluster::{check, eventually, kubectl, nodes};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{NODE, in_pod, pod_without_volume, sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const OVS: &str = "changes-ovs";
const VPP: &str = "changes-vpp";

/// The changes, in order: what, the network, and its spec afterwards.
fn changes() -> Vec<(&'static str, &'static str, Value)> {
    let ovs = |bridge: Value, port: Value, more: Value| {
        let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.33.0/24"}]]});
        let mut spec = json!({"bridge": bridge, "port": port, "ipam": ipam});
        spec["port"]["type"] = json!("Veth");
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("", spec)
    };
    let vpp = |bridge: Value, port: Value| json!({"engine": "VPP", "bridge": bridge, "port": port});
    let none = || json!({});
    let limit = |rate: u32| json!({"rateLimit": {"ingressKbps": rate}});
    let vlan = |tag: u16| json!({"vlan": {"mode": "Access", "tag": tag}});
    let native = json!({"vlan": {"mode": "NativeUntagged", "tag": 8, "trunks": [9]}});
    let of_left = |what: Value| json!({"attachments": [{"namespace": OVS, "pod": "left", "rateLimit": what}]});
    let on = |node: &str| json!({"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": node}}});
    let both =
        json!({"namespaceSelector": {"matchExpressions": [{"key": "scene", "operator": "In", "values": [OVS, VPP]}]}});
    let small = || json!({"mtu": 1400});
    let of_ovs = [
        ("MTU", ovs(small(), none(), none())),
        ("VLAN set", ovs(small(), vlan(7), none())),
        ("VLAN changed", ovs(small(), vlan(8), none())),
        ("VLANs added", ovs(small(), native, none())),
        ("VLAN removed", ovs(small(), none(), none())),
        ("rate limit set", ovs(small(), limit(100_000), none())),
        ("rate limit changed", ovs(small(), limit(200_000), none())),
        ("rate limit removed", ovs(small(), none(), none())),
        ("MAC learning off", ovs(json!({"mtu": 1400, "macLearning": "Disabled"}), none(), none())),
        ("MAC age", ovs(json!({"mtu": 1400, "macAgeSeconds": 60}), none(), none())),
        ("MAC table", ovs(json!({"mtu": 1400, "macTableSize": 100}), none(), none())),
        ("rate limit of one pod", ovs(small(), none(), of_left(json!({"ingressKbps": 300_000})))),
        ("that changed", ovs(small(), none(), of_left(json!({"ingressKbps": 400_000})))),
        ("that removed", ovs(small(), none(), none())),
        ("another namespace", ovs(small(), none(), both)),
        ("a node less", ovs(small(), none(), on(NODE))),
        ("a node more", ovs(small(), none(), none())),
        ("the node of the pods less", ovs(small(), none(), on("node-b"))),
        ("the node of the pods again", ovs(small(), none(), none())),
        ("a setting of new pods", ovs(small(), none(), json!({"devicePlugin": {"devices": 8}}))),
    ];
    let of_vpp = [
        ("VPP: MAC age", vpp(json!({"macAgeSeconds": 120}), none())),
        ("VPP: MAC table", vpp(json!({"macTableSize": 100}), none())),
        ("VPP: VLAN set", vpp(none(), vlan(7))),
        ("VPP: VLAN removed", vpp(none(), none())),
        ("VPP: rate limit", vpp(none(), limit(100_000))),
        ("VPP: MTU", vpp(small(), limit(100_000))),
    ];
    let of_ovs = of_ovs.into_iter().map(|(what, (_, spec))| (what, OVS, spec));
    of_ovs.chain(of_vpp.into_iter().map(|(what, spec)| (what, VPP, spec))).collect()
}

/// Operations by node, without the pod or container that they are of, which plan and history name
/// differently.
type Operations = BTreeMap<String, Vec<String>>;

fn add(operations: &mut Operations, node: &Value, operation: &Value) {
    let operation = operation.as_str().unwrap().split(" of net1 of ").next().unwrap();
    let operation = operation.split(" of attachment ").next().unwrap();
    operations.entry(node.as_str().unwrap().to_owned()).or_default().push(operation.to_owned());
}

fn planned(change: &Value) -> Operations {
    let mut operations = Operations::new();
    for node in list(change, "nodes") {
        list(node, "operations").iter().for_each(|operation| add(&mut operations, &node["node"], operation));
    }
    operations
}

/// The entries of the histories of all nodes about a network.
fn history(network: &str) -> Vec<Value> {
    list(&ask(&["history", "--network", network]).1, "changes").clone()
}

/// Returns the operations of nodes that are not in `before`, and checks that all have succeeded.
fn done(network: &str, before: &[Value]) -> Operations {
    let mut operations = Operations::new();
    for entry in history(network).iter().filter(|entry| !before.contains(entry)) {
        assert_eq!(entry["result"], "Done", "{entry}");
        add(&mut operations, &entry["node"], &entry["operation"]);
    }
    operations
}

fn sorted(mut operations: Operations) -> Operations {
    operations.values_mut().for_each(|of_node| of_node.sort());
    operations
}

/// Echo requests between two pods, each with a number.
struct Echoes<'a>(&'a Scene);

impl<'a> Echoes<'a> {
    fn start(scene: &'a Scene) -> Self {
        let to = Station::of_pod(scene, "right").address;
        in_pod(scene, "left", &format!("busybox ping -i 0.1 -I net1 {to} > /tmp/echoes 2>&1 &"));
        let echoes = Self(scene);
        eventually("the first answers", || check(echoes.answered().len() > 2, "none"));
        echoes
    }

    /// The numbers of those that were answered.
    fn answered(&self) -> BTreeSet<u32> {
        let text = in_pod(self.0, "left", "cat /tmp/echoes");
        let number = |line: &str| line.split("seq=").nth(1)?.split(' ').next()?.parse().ok();
        text.lines().filter_map(number).collect()
    }

    /// The number of a request that was sent after this call and answered; the test fails where
    /// pods do not reach each other any more.
    fn last(&self) -> u32 {
        let last = || self.answered().last().copied().unwrap_or_default();
        let (first, mut now) = (last(), 0);
        eventually("another answer", || {
            now = last();
            check(now > first + 1, format!("{now}"))
        });
        now
    }
}

/// Whether a plan announces an interruption of traffic.
fn interrupts(change: &Value) -> bool {
    list(change, "traffic").iter().any(|effect| {
        let effect = effect.as_str().unwrap();
        effect.contains("interrupted") || effect.contains("do not reach each other")
    })
}

#[test]
#[ignore = "long: make nightly"]
fn nodes_do_what_plans_say_and_lose_no_packets_unless_plans_say_so() {
    let (ovs, vpp) = (Scene::new(OVS), Scene::new(VPP));
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.33.0/24"}]]});
    let first = json!({"bridge": {"mtu": 1500}, "port": {"type": "Veth"}, "ipam": ipam});
    compare(&ovs, OVS, &first);
    compare(&vpp, VPP, &json!({"engine": "VPP"}));
    for pod in ["left", "right"] {
        start(&ovs, &pod_without_volume(&ovs, pod, OVS));
    }
    start(&vpp, &sleeping_pod(&vpp, "user", VPP));
    await_attachments(OVS, 2);
    await_attachments(VPP, 1);

    let echoes = Echoes::start(&ovs);
    for (number, (what, network, spec)) in changes().into_iter().enumerate() {
        let scene = if network == OVS { &ovs } else { &vpp };
        let begin = echoes.last();
        let change = compare(scene, network, &spec);
        let end = echoes.last();
        let answered = echoes.answered();
        let lost = (begin..end).filter(|number| !answered.contains(number)).count();
        let count = |field: &str| list(&change, field).len();
        let operations: usize = planned(&change).values().map(Vec::len).sum();
        println!(
            "{:2}. {what}: {} nodes, {operations} operations, {} effects on traffic; {lost} of {} lost",
            number + 3,
            count("nodes"),
            count("traffic"),
            end - begin,
        );
        assert!(lost == 0 || interrupts(&change), "{what}: lost {lost} of {}: {change}", end - begin);
    }
}

/// Plans a change and applies it: nodes do what was planned, and name the pods.
fn compare(scene: &Scene, network: &str, spec: &Value) -> Value {
    let (status, change) = plan(&scene.manifest(network, spec));
    let before = if change["isNew"] == true { Vec::new() } else { history(network) };
    assert_eq!(status, 1, "{change}");
    for node in list(&change, "nodes") {
        let has_ports = list(node, "operations").iter().any(|operation| operation.as_str().unwrap().contains(" port "));
        assert_eq!(!list(node, "pods").is_empty(), has_ports, "{node}");
        assert!(nodes().iter().any(|name| text(node, "node") == *name) && node["problem"] == Value::Null, "{node}");
    }
    scene.network(network, spec);
    let planned = sorted(planned(&change));
    eventually("the nodes do what was planned", || {
        let done = sorted(done(network, &before));
        check(done == planned, format!("{done:#?} instead of {planned:#?}"))
    });
    change
}

/// A plan names the pods that nodes have reported.
fn await_attachments(network: &str, count: i64) {
    eventually("pods are reported", || {
        let reported = kubectl(&["get", "usn", network, "-o", "jsonpath={.status.attachments}"]);
        check(reported == count.to_string(), reported)
    });
}
