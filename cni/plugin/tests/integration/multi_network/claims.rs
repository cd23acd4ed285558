//! Ports of resource claims that the agent has left to the call for the sandbox.

use super::{add, assert_clean, before, listing, program};
use crate::support::TestNode;
use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use serde_json::{Value, json};
use usnet_dataplane::attachment::Pod as PodIdentity;
use usnet_dataplane::claim_records::{ClaimPort, ClaimRecord, ClaimRecords};

on_each_engine! {
    ports_of_claims_are_attached_with_the_sandbox_after_those_of_the_annotation,
    a_claimed_interface_that_the_annotation_names_too_is_rejected,
}

/// A prepared claim of a pod with two ports, of which one needs the sandbox.
fn prepare(node: &TestNode, pod: &Pod, interface: &str) {
    let port = ClaimPort {
        request: "port".into(),
        pool: "node-a".into(),
        device: "green".into(),
        share_id: None,
        network: "green".parse().unwrap(),
        interface: interface.parse().unwrap(),
        directory: "port".into(),
        requested: json!({"mac": "02:00:00:00:00:07"}).as_object().unwrap().clone(),
        is_with_sandbox: true,
        attached: None,
    };
    let before_sandbox = ClaimPort { interface: "claim9".parse().unwrap(), is_with_sandbox: false, ..port.clone() };
    let record = ClaimRecord {
        version: ClaimRecord::VERSION,
        uid: format!("c-{}", pod.name).parse().unwrap(),
        namespace: "db".into(),
        name: "uplink".into(),
        generation: 1,
        pod_claim_name: None,
        is_of_extended_resource: false,
        pod: PodIdentity { namespace: "db".into(), name: pod.name.clone(), uid: pod.uid.parse().unwrap() },
        ports: vec![port, before_sandbox],
        is_reported: true,
    };
    ClaimRecords::new(&node.paths).write(&record).unwrap();
}

fn names(result: &Value) -> Vec<&str> {
    result["interfaces"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

fn ports_of_claims_are_attached_with_the_sandbox_after_those_of_the_annotation(node: &mut TestNode) {
    program(node, &["green"]);
    let (pod, other) = (node.pod("p"), node.pod("q"));
    prepare(node, &pod, "claim1");
    let result = add(node, &pod, &listing("blue")).result();
    assert_eq!(names(&result), ["vethx", "eth0", "net1", "claim1"]);
    assert_eq!(result["interfaces"][3]["mac"], "02:00:00:00:00:07");
    assert_eq!(add(node, &other, &listing("")).result(), before(), "the claim is of another pod");
    // The runtime deletes the sandbox before kubelet unprepares the claim.
    let bare = json!({"cniVersion": "1.1.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations"});
    node.call("DEL", &pod, "eth0", &bare).assert_done();
    ClaimRecords::new(&node.paths).remove(&"c-p".parse().unwrap()).unwrap();
    assert_clean(node, &["green"]);
}

fn a_claimed_interface_that_the_annotation_names_too_is_rejected(node: &mut TestNode) {
    program(node, &["green"]);
    let pod = node.pod("p");
    prepare(node, &pod, "net1");
    let message = add(node, &pod, &listing("blue")).message(7);
    assert!(message.contains("request port (green as net1) of resource claim uplink"), "{message}");
    assert_clean(node, &["green"]);
}
