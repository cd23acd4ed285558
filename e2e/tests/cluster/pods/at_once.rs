//! Many pods with two interfaces each that are created at once on both nodes: `USNET_PODS_AT_ONCE`
//! sets their number. A node has room for about a hundred.

use crate::support::cluster::{NODES, apply, check, eventually_within, get, kubectl, on_node};
use crate::support::pods::sleeping_pod;
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A machine with two cores starts about one pod in a second.
const STARTED: Duration = Duration::from_secs(1200);

fn pods(scene: &Scene, count: usize) -> Vec<Value> {
    let pod = |number: usize| {
        let networks = "crowd-sockets@net1,crowd-devices@net2";
        let mut pod = sleeping_pod(scene, &format!("pod-{number}"), networks);
        pod["spec"]["nodeName"] = json!(NODES[number % NODES.len()]);
        pod
    };
    (0..count).map(pod).collect()
}

/// Which pods do not run yet.
fn waiting(scene: &Scene) -> usize {
    let all = get(&["pods", "-n", &scene.name]).unwrap_or_default()["items"].take();
    all.as_array().into_iter().flatten().filter(|pod| pod["status"]["phase"] != "Running").count()
}

/// The calls of the plugin for pods of the scene: how long those for each pod took together, and
/// the errors.
fn calls(scene: &Scene) -> (BTreeMap<String, u64>, Vec<Value>) {
    let (mut took, mut failed) = (BTreeMap::new(), Vec::new());
    for node in NODES {
        let text =
            on_node(node, &["sh", "-c", "cat /run/usnet/calls.older.jsonl /run/usnet/calls.jsonl 2>/dev/null; true"]);
        let all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for call in all.filter(|call| call["verb"] == "ADD") {
            let Some(pod) = call["pod"].as_str().filter(|pod| pod.starts_with(&format!("{}/", scene.name))) else {
                continue;
            };
            if call["code"] == 0 {
                *took.entry(pod.to_owned()).or_default() += call["milliseconds"].as_u64().unwrap_or_default();
            } else {
                failed.push(call);
            }
        }
    }
    (took, failed)
}

/// The addresses of all pods, with the nodes that gave them.
fn addresses(scene: &Scene) -> Vec<String> {
    let all = get(&["pods", "-n", &scene.name]).unwrap_or_default()["items"].take();
    let of_pod = |pod: &Value| {
        let text = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap_or("[]");
        let status: Vec<Value> = serde_json::from_str(text).unwrap();
        let own =
            status.iter().filter(|interface| interface["name"].as_str().is_some_and(|name| name.contains("crowd")));
        let ips: Vec<Value> =
            own.flat_map(|interface| interface["ips"].as_array().cloned().unwrap_or_default()).collect();
        ips.into_iter().map(|ip| format!("{} {ip}", pod["spec"]["nodeName"])).collect::<Vec<_>>()
    };
    all.as_array().into_iter().flatten().flat_map(of_pod).collect()
}

#[test]
#[ignore = "long: make nightly"]
fn a_crowd_of_pods_with_two_interfaces_starts_without_a_failure() {
    let count = std::env::var("USNET_PODS_AT_ONCE").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let scene = Scene::new("crowd");
    let ipam = |subnet: &str| json!({"type": "host-local", "ranges": [[{"subnet": subnet}]]});
    scene.network("crowd-sockets", &json!({"ipam": ipam("10.61.0.0/16")}));
    scene.network("crowd-devices", &json!({"port": {"type": "Veth"}, "ipam": ipam("10.62.0.0/16")}));
    let began = Instant::now();
    for some in pods(&scene, count).chunks(100) {
        apply(&json!({"apiVersion": "v1", "kind": "List", "items": some}));
    }
    eventually_within(STARTED, "all pods run", || {
        let left = waiting(&scene);
        check(left == 0, format!("{left} of {count} do not"))
    });
    let running = began.elapsed();

    let (took, failed) = calls(&scene);
    let mut each: Vec<u64> = took.values().copied().collect();
    each.sort_unstable();
    let share = |percent: usize| each[(each.len() * percent).div_ceil(100).max(1) - 1];
    println!(
        "{count} pods run after {running:?}; the two calls of usnet took {} ms (half of the pods), {} ms (99 of 100), at most {} ms",
        share(50),
        share(99),
        share(100)
    );
    assert_eq!((took.len(), failed.as_slice()), (count, [].as_slice()));
    let all = addresses(&scene);
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (2 * count, 2 * count), "unique addresses");
    kubectl(&["delete", "pods", "--all", "-n", &scene.name, "--grace-period=1", "--wait=true", "--timeout=1200s"]);
}
