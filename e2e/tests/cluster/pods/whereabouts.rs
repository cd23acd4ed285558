//! Addresses from one pool for all nodes: the real `whereabouts`, which stores them in the API
//! server.

use crate::support::cluster::{NODES, apply, check, eventually, get, kubectl, on_node, timeout, try_run};
use crate::support::pods::{description, sleeping_pod, start, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const GROUP: &str = "whereabouts.cni.cncf.io";
/// The nodes have it for Multus.
const KUBECONFIG: &str = "/etc/cni/net.d/multus.d/multus.kubeconfig";

/// Where it looks for what is the same for all networks.
const FOLDER: &str = "/etc/cni/net.d/whereabouts.d";

/// Its custom resources and its file on each node, while this lives.
struct Definitions;

impl Definitions {
    const ALL: [(&str, &str); 3] = [
        ("ippools", "IPPool"),
        ("overlappingrangeipreservations", "OverlappingRangeIPReservation"),
        ("nodeslicepools", "NodeSlicePool"),
    ];

    fn new() -> Self {
        let definitions = Self;
        for (plural, kind) in Self::ALL {
            let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
            apply(&json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.{GROUP}")},
                "spec": {
                    "group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": schema}],
                },
            }));
            kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.{GROUP}"), timeout()]);
        }
        let defaults = json!({"datastore": "kubernetes", "kubernetes": {"kubeconfig": KUBECONFIG}, "log_file": "/var/log/whereabouts.log", "log_level": "debug"});
        for node in NODES {
            on_node(
                node,
                &["sh", "-c", &format!("mkdir -p {FOLDER} && echo '{defaults}' > {FOLDER}/whereabouts.conf")],
            );
        }
        definitions
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        for (plural, _) in Self::ALL {
            if let Err(error) = try_run("kubectl", &["delete", "crd", &format!("{plural}.{GROUP}"), timeout()], "") {
                eprintln!("cleaning up whereabouts: {error}");
            }
        }
    }
}

fn ipam(ranges: &Value) -> Value {
    json!({
        "type": "whereabouts", "ipRanges": ranges, "gateway": "10.66.0.1", "routes": [{"dst": "10.99.0.0/16", "gw": "10.66.0.1"}],
    })
}

fn on_node_b(mut pod: Value) -> Value {
    pod["spec"]["nodeName"] = json!("node-b");
    pod
}

/// How many addresses each pool holds, the most first.
fn pool_sizes() -> Vec<usize> {
    let pools = get(&[&format!("ippools.{GROUP}"), "--all-namespaces"]).unwrap();
    let allocations = |pool: &Value| pool["spec"]["allocations"].as_object().map_or(0, serde_json::Map::len);
    let mut sizes: Vec<usize> = pools["items"].as_array().unwrap().iter().map(allocations).collect();
    sizes.sort_by_key(|size| std::cmp::Reverse(*size));
    sizes
}

/// How many addresses it holds.
fn held() -> usize {
    pool_sizes().into_iter().sum()
}

/// A tenant's own configuration with the same range and pool has a pool of its own.
fn a_tenant_takes_none_of_them(scene: &Scene, addresses: &[Vec<Value>; 2]) {
    let stolen = json!({"type": "whereabouts", "range": "10.66.0.0/24", "gateway": "10.66.0.1", "network_name": ""});
    let definition = json!({"cniVersion": "1.1.0", "name": "shared", "type": "userspace", "network": "shared-other", "ipam": stolen});
    scene.network("shared-other", &json!({}));
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "thief", "namespace": scene.name}, "spec": {"config": definition.to_string()},
    }));
    start(scene, &sleeping_pod(scene, "thief", "thief"));
    let taken = description(scene, "thief", "net1")["ips"][0]["address"].clone();
    assert!(
        addresses[0].iter().chain(&addresses[1]).any(|other| other["address"] == taken),
        "of a pool of its own: {taken}"
    );
    assert_eq!(pool_sizes(), [2, 2, 1]);
    scene.delete_pod("thief");
}

#[test]
fn pods_of_two_nodes_share_a_pool_and_what_fails_holds_nothing() {
    let _definitions = Definitions::new();
    let scene = Scene::new("shared");
    scene.network("shared", &json!({"ipam": ipam(&json!([{"range": "10.66.0.0/24"}, {"range": "fd00:66::/116"}]))}));
    start(&scene, &sleeping_pod(&scene, "left", "shared"));
    start(&scene, &on_node_b(sleeping_pod(&scene, "right", "shared")));
    let described = ["left", "right"].map(|pod| description(&scene, pod, "net1"));
    for observed in &described {
        let families: Vec<_> = observed["ips"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ip| ip["address"].as_str().unwrap().contains(':'))
            .collect();
        assert_eq!(families, [false, true], "{observed}");
        assert_eq!(observed["routes"], json!([{"dst": "10.99.0.0/16", "gw": "10.66.0.1"}]));
        assert_eq!(observed["ips"][0]["gateway"], "10.66.0.1", "{observed}");
    }
    let addresses = described.each_ref().map(|observed| observed["ips"].as_array().unwrap().clone());
    assert!(
        addresses[0].iter().all(|address| !addresses[1].contains(address)),
        "each once in the cluster: {addresses:?}"
    );
    assert_eq!(held(), 4);

    a_tenant_takes_none_of_them(&scene, &addresses);

    // Two addresses and three pods.
    scene.network("shared-small", &json!({"ipam": ipam(&json!([{"range": "10.67.0.0/30"}]))}));
    start(&scene, &sleeping_pod(&scene, "one", "shared-small"));
    start(&scene, &on_node_b(sleeping_pod(&scene, "two", "shared-small")));
    apply(&sleeping_pod(&scene, "three", "shared-small"));
    scene.await_refusal("three", &["IPAM plugin whereabouts"]);
    // While kubelet tries again it is on its way, and counted.
    eventually("what was refused is not attached", || {
        let status = get(&["usn", "shared-small"]).unwrap()["status"].take();
        check(status["attachments"] == 2, status.to_string())
    });
    scene.delete_pod("two");
    wait_running(&scene, "three");

    scene.delete_pods(["left", "right", "one", "three"]);
    eventually("all addresses are given back", || check(held() == 0, held().to_string()));
}
