//! The placement of pods beside the NIC of their network, in a guest whose kubelet aligns CPUs and
//! devices.

use super::guest_node::{GuestNode, NAME, NUMA_NODES};
use crate::support::cluster::{apply, get};
use crate::support::pods::wait_running;
use crate::support::scene::Scene;
use crate::support::uplinks::Uplink;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NETWORK: &str = "near";
const PODS: usize = 20;

/// Kubelet places pods on the first NUMA node if nothing keeps it from that, and the NIC is on the
/// last one. `taken` are the CPUs of the engine.
pub(super) fn pods_are_placed_beside_the_nic(node: &GuestNode, taken: &BTreeSet<u16>) {
    let of_nic = node.nic_numa_node();
    assert_eq!(of_nic, NUMA_NODES - 1);
    let free = |numa_node: u8| node.cpus_of(numa_node).difference(taken).count();
    assert!(free(0) > 1, "kubelet could place no pod elsewhere");
    let _uplink = Uplink::apply(&json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": NETWORK},
        "spec": {
            "engine": "OVS", "vlans": ["100-199"],
            "nics": [{"nodeSelector": {"matchLabels": {NAME: "yes"}}, "device": {"type": "Name", "name": "eth1"}}],
        },
    }));
    let scene = Scene::new(NETWORK);
    scene.network(
        NETWORK,
        &json!({
            "nodeSelector": {"matchLabels": {NAME: "yes"}},
            "topology": {"type": "Uplink", "uplink": {"name": NETWORK, "vlan": 142}},
            "devicePlugin": {"devices": PODS},
        }),
    );

    let names: Vec<String> = (0..PODS).map(|number| format!("near-{number}")).collect();
    let mut placed = Vec::new();
    for together in names.chunks(free(of_nic)) {
        together.iter().for_each(|name| apply(&pod(&scene, name)));
        for name in together {
            wait_running(&scene, name);
            let pod = get(&["pod", name, "-n", &scene.name]).unwrap();
            placed.push(node.numa_node(&node.given(&pod, "main")));
        }
        scene.delete_pods(together.iter().map(String::as_str));
    }
    let near = placed.iter().filter(|numa_node| **numa_node == of_nic).count();
    println!("guest: {near} of {PODS} pods are placed on the NUMA node of the NIC");
    assert_eq!(near, PODS, "{placed:?}");
}

/// A pod with a CPU of its own and a device of the network.
fn pod(scene: &Scene, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": scene.name, "annotations": {"k8s.v1.cni.cncf.io/networks": NETWORK}},
        "spec": {
            "nodeName": NAME,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": "busybox:e2e", "imagePullPolicy": "Never",
                "command": ["busybox", "sleep", "3600"],
                "resources": {"limits": {"cpu": "1", "memory": "32Mi", format!("usnet.dev/{NETWORK}"): "1"}},
            }],
        },
    })
}
