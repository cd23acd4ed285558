//! The fixed attachment of a StatefulSet's pod: it keeps its address and MAC after a recreation,
//! also on another node when its own is drained.

use crate::support::cluster::{apply, check, eventually, get, kubectl, timeout, try_run, vsctl};
use crate::support::pods::{sleeping_pod, start, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const POD: &str = "web-0";

/// A StatefulSet of one pod on these networks, on that node as long as pods can be scheduled there.
fn stateful_set(scene: &Scene, networks: &str, node: &str) -> Value {
    let mut template = sleeping_pod(scene, "template", networks);
    template["metadata"] = json!({"labels": {"app": "web"}, "annotations": template["metadata"]["annotations"]});
    let spec = &mut template["spec"];
    spec["nodeName"] = Value::Null;
    let expressions = json!([{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]);
    let preference = json!({"weight": 100, "preference": {"matchExpressions": expressions}});
    spec["affinity"] = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web", "namespace": scene.name},
        "spec": {"serviceName": "web", "replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": template["metadata"], "spec": template["spec"]}},
    })
}

fn in_pod(scene: &Scene, script: &str) -> String {
    kubectl(&["exec", POD, "-n", &scene.name, "--", "busybox", "sh", "-c", script])
}

/// Waits for a pod of that name that is another than `before`, and gives its uid.
fn await_next(scene: &Scene, before: &str) -> String {
    let uid = eventually("the next pod of the StatefulSet", || {
        let pod = get(&["pod", POD, "-n", &scene.name]).ok_or("none")?;
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        check(uid != before, "still the first")?;
        Ok(uid)
    });
    wait_running(scene, POD);
    uid
}

/// MAC and addresses of each interface, as the kernel has them.
fn identity(scene: &Scene) -> Vec<String> {
    let observed =
        ["net1", "net2", "net3"].map(|interface| in_pod(scene, &format!("busybox ip addr show dev {interface}")));
    let words = |text: &String| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let after =
            |key: &'static str| words.windows(2).filter(move |pair| pair[0] == key).map(|pair| pair[1].to_owned());
        let global = |address: &String| !address.starts_with("fe80");
        [after("link/ether").collect::<Vec<_>>(), after("inet").collect(), after("inet6").filter(global).collect()]
            .concat()
            .join(" ")
    };
    observed.iter().map(words).collect()
}

/// A node from which pods were drained. Pods can be scheduled there again afterwards, also when the
/// test fails.
struct Drained<'a>(&'a str);

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        let _failed = try_run("kubectl", &["uncordon", self.0], "");
        // Its replica on this node was evicted as well.
        let controller = ["rollout", "status", "-n", "usnet-system", timeout(), "deployment/usnet-controller"];
        let _failed = try_run("kubectl", &controller, "");
    }
}

/// Sockets of pods are in volumes of the type `emptyDir`, with which kubectl deletes no pod unless
/// it is told to.
fn drain(node: &str) -> Drained<'_> {
    let drained = Drained(node);
    let drain = ["drain", node, "--ignore-daemonsets", timeout()];
    let error = try_run("kubectl", &drain, "").unwrap_err();
    assert!(error.contains("--delete-emptydir-data") && error.contains(POD), "{error}");
    kubectl(&[drain.as_slice(), &["--delete-emptydir-data"]].concat());
    drained
}

/// Waits until nothing of the pod is left on a node.
fn await_nothing(node: &str) {
    eventually("the node counts no pod", || {
        let state = get(&["usns", node]).unwrap();
        let counts: Vec<_> = state["status"]["networks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|network| network["name"].as_str().unwrap().starts_with("stateful-"))
            .map(|network| network["attachments"].as_u64().unwrap_or_default())
            .collect();
        check(counts.iter().sum::<u64>() == 0, format!("{counts:?}"))
    });
    for number in 1..=3 {
        assert_eq!(vsctl(node, &["list-ports", &format!("br-stateful-{number}")]), "");
    }
}

#[test]
fn a_recreated_pod_keeps_its_addresses_and_mac_on_any_node() {
    let scene = Scene::new("stateful");
    let fixed = |number: u8| {
        let ips = [format!("10.60.{number}.77/24"), format!("fd00:60:{number}::77/64")];
        json!([{"namespace": scene.name, "pod": POD, "ips": ips, "mac": format!("02:60:00:00:00:{number:02x}"), "vlan": {"mode": "Access", "tag": 60 + i32::from(number)}}])
    };
    let ranges = json!([[{"subnet": "10.60.1.0/24"}], [{"subnet": "fd00:60:1::/64"}]]);
    let addresses = json!([{"address": "10.60.2.9/24", "gateway": "10.60.2.1"}]);
    for (number, ipam) in [
        (1, json!({"type": "host-local", "ranges": ranges})),
        (2, json!({"type": "static", "addresses": addresses})),
        (3, Value::Null),
    ] {
        let mut spec = json!({"port": {"type": "Veth"}, "attachments": fixed(number)});
        if !ipam.is_null() {
            spec["ipam"] = ipam;
        }
        scene.network(&format!("stateful-{number}"), &spec);
    }
    let networks = "stateful-1,stateful-2,stateful-3";
    apply(&stateful_set(&scene, networks, "node-a"));
    let first = await_next(&scene, "");
    let expected =
        [1, 2, 3].map(|number| format!("02:60:00:00:00:0{number} 10.60.{number}.77/24 fd00:60:{number}::77/64"));
    assert_eq!(identity(&scene), expected);
    for number in 1..=3 {
        let bridge = format!("br-stateful-{number}");
        let port = vsctl("node-a", &["list-ports", &bridge]);
        assert_eq!(vsctl("node-a", &["get", "Port", &port, "tag"]), (60 + number).to_string());
    }

    scene.delete_pod(POD);
    let second = await_next(&scene, &first);
    assert_eq!(identity(&scene), expected, "recreated");

    a_pod_that_requests_an_address_of_another_is_rejected_with_its_name(&scene);

    let _drained = drain("node-a");
    await_next(&scene, &second);
    assert_eq!(get(&["pod", POD, "-n", &scene.name]).unwrap()["spec"]["nodeName"], "node-b");
    assert_eq!(identity(&scene), expected, "on the other node");
    await_nothing("node-a");
    kubectl(&["delete", "statefulset", "web", "-n", &scene.name, timeout()]);
}

fn a_pod_that_requests_an_address_of_another_is_rejected_with_its_name(scene: &Scene) {
    let asking = |name: &str, requested: Value| {
        let mut element = json!({"name": "stateful-3"});
        for (key, value) in requested.as_object().unwrap() {
            element[key] = value.clone();
        }
        sleeping_pod(scene, name, &json!([element]).to_string())
    };
    apply(&asking("thief", json!({"ips": ["10.60.3.77/24"]})));
    scene.await_refusal("thief", &["10.60.3.77", &format!("net3 of pod {}/{POD}", scene.name)]);
    apply(&asking("twin", json!({"mac": "02:60:00:00:00:03"})));
    scene.await_refusal("twin", &["02:60:00:00:00:03", &format!("net3 of pod {}/{POD}", scene.name)]);
    scene.delete_pods(["thief", "twin"]);
    start(scene, &asking("honest", json!({"ips": ["10.60.3.78/24"]})));
    scene.delete_pod("honest");
}
