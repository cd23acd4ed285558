//! How long a cluster of 100,000 pods takes, and how much memory.

use super::{cluster, namespace, network, object, policy};
use crate::compile::compile;
use crate::events::queue;
use crate::metrics::Metrics;
use crate::observed::Observed;
use crate::run::Controller;
use kube::runtime::watcher::Event;
use prometheus::Registry;
use serde_json::{Value, json};
use std::time::Instant;
use usnet_common::testing::api_server::{Answer, ApiServer};
use usnet_crds::UserspacePodSliceSpec;

const NODES: usize = 5_000;
const PODS_OF_NODE: usize = 20;
const NETWORKS: usize = 100;
const NAMESPACES: usize = 500;
const POLICIES: usize = 1_000;

fn name(kind: &str, number: usize) -> String {
    format!("{kind}-{number}")
}

fn pod(number: usize, role: &str) -> Value {
    let labels = json!({
        "app": name("app", number % 40), "role": role, "pod-template-hash": format!("{:010x}", number % 4000),
    });
    let metadata = json!({
        "namespace": name("ns", number % NAMESPACES), "name": name("pod", number),
        "uid": format!("c9a646d3-9c61-4cb7-bfcd-{number:012}"), "labels": labels,
    });
    json!({"metadata": metadata, "spec": {"nodeName": name("node", number / PODS_OF_NODE)}})
}

/// Each pod is on one network.
fn node(number: usize) -> Value {
    let pods = (0..PODS_OF_NODE).map(|place| number * PODS_OF_NODE + place);
    let pods = pods.map(|pod| {
        let address = format!("10.{}.{}.{}", pod >> 16 & 255, pod >> 8 & 255, pod & 255);
        let uid = format!("c9a646d3-9c61-4cb7-bfcd-{pod:012}");
        json!({"network": name("net", pod % NETWORKS), "uid": uid, "addresses": [address]})
    });
    let pods: Vec<Value> = pods.collect();
    json!({"metadata": {"name": name("node", number)}, "spec": {"labels": {}}, "status": {"policyPods": pods}})
}

/// A policy for the pods of an app, with those of five namespaces as peers.
fn spec(number: usize) -> Value {
    let peer = |place: usize| {
        let namespace = name("ns", (number + place) % NAMESPACES);
        json!({"namespaceSelector": {"matchLabels": {"name": namespace}}, "podSelector": {"matchLabels": {"role": "client"}}})
    };
    let peers: Vec<Value> = (0..5).map(peer).collect();
    json!({"podSelector": {"matchLabels": {"app": name("app", number % 40)}}, "ingress": [{"from": peers}]})
}

fn large() -> Observed {
    let mut observed = cluster();
    for number in 0..NETWORKS {
        observed.network(Event::Apply(network(&name("net", number), "Enabled")));
    }
    for number in 0..NAMESPACES {
        let name = name("ns", number);
        observed.namespace(Event::Apply(namespace(&name, &json!({"name": name}))));
    }
    for number in 0..POLICIES {
        let of = format!("{}/{}", name("ns", number % NAMESPACES), name("p", number));
        observed.policy(Event::Apply(policy(&of, &name("net", number % NETWORKS), &spec(number))));
    }
    for number in 0..NODES * PODS_OF_NODE {
        observed.pod(Event::Apply(object(&pod(number, "client"))));
    }
    for number in 0..NODES {
        observed.node(Event::Apply(object(&node(number))));
    }
    observed
}

/// Resident memory of this process, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[tokio::test]
#[ignore = "long: make nightly"]
async fn a_hundred_thousand_pods_are_computed_in_seconds() {
    let refuse = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 503, "message": "no"});
    let server = ApiServer::choosing(move |_| Some(Answer::new(503, refuse.to_string())));
    let before = memory();
    let (reports, _queue) = queue();
    let mut controller = Controller::new(server.client(), reports, Metrics::register(&Registry::new()).unwrap());
    controller.observed = large();
    println!("{} policies; observed: {} MB", compile(&controller.observed).compiled.len(), memory() - before);
    for _ in 0..2 {
        // All that would be written counts as written.
        let compilation = compile(&controller.observed);
        let began = Instant::now();
        let slices = controller.slices(&compilation);
        let pods: usize = slices.values().map(UserspacePodSliceSpec::pods_count).sum();
        println!("{} slices, {pods} pods in {:?}; {} MB", slices.len(), began.elapsed(), memory() - before);
        assert!(pods > 50_000);
        controller.observed.slices.objects = slices.into_iter().map(|(name, slice)| (name, Some(slice))).collect();
        let compiled = compilation.compiled.into_iter().map(|(name, spec)| (name, Some(spec)));
        controller.observed.compiled.objects = compiled.collect();
    }
    controller.observed.pod(Event::Apply(object(&pod(7, "server"))));
    let slices = controller.slices(&compile(&controller.observed));
    let stored = &controller.observed.slices.objects;
    let changed = slices.iter().filter(|(name, slice)| stored.get(*name).and_then(Option::as_ref) != Some(*slice));
    assert_eq!(changed.count(), 1, "one pod");
}
