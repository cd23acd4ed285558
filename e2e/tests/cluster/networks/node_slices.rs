//! Objects for overlays: VNIs, and the addresses of nodes in slices.

use crate::support::cluster::{NODES, check, eventually, get, kubectl};
use crate::support::scene::{Scene, await_condition, compiled};
use serde_json::{Value, json};

/// A node in the slices.
fn in_slice(node: &str) -> Option<Value> {
    let slices = get(&["userspacenodeslices"])?;
    let nodes = slices["items"].as_array()?.iter().filter_map(|slice| slice["spec"]["nodes"].as_array()).flatten();
    nodes.into_iter().find(|found| found["name"] == node).cloned()
}

fn internal_ip(node: &str) -> Value {
    let object = get(&["node", node]).unwrap();
    let addresses = object["status"]["addresses"].as_array().unwrap();
    addresses.iter().find(|address| address["type"] == "InternalIP").unwrap()["address"].clone()
}

/// Without the label, also when the test fails.
struct Labelled;

impl Drop for Labelled {
    fn drop(&mut self) {
        kubectl(&["label", "node", NODES[1], "usnet.dev/joined-"]);
    }
}

#[test]
fn an_overlay_has_a_vni_and_its_nodes_are_in_slices_with_the_labels_that_it_selects_by() {
    let scene = Scene::new("joined");
    let topology = json!({"type": "Overlay", "overlay": {}});
    scene.network(
        "joined",
        &json!({"topology": topology, "nodeSelector": {"matchLabels": {"usnet.dev/joined": "yes"}}}),
    );
    let vni = compiled("joined").unwrap()["overlay"]["vni"].clone();
    assert_eq!(get(&["usn", "joined"]).unwrap()["status"]["overlay"]["vni"], vni);
    for node in NODES {
        let found = eventually("the node is in a slice", || in_slice(node).ok_or_else(|| format!("no {node}")));
        assert_eq!(found["addresses"][0], internal_ip(node));
    }
    let _labelled = Labelled;
    kubectl(&["label", "node", NODES[1], "usnet.dev/joined=yes", "--overwrite"]);
    eventually("the label is in the slice", || {
        let found = in_slice(NODES[1]).ok_or("not there")?;
        check(found["labels"]["usnet.dev/joined"] == "yes", found.to_string())
    });

    let taken = json!({"type": "Overlay", "overlay": {"vni": vni}});
    scene.apply_network("joined-too", &json!({"topology": taken}));
    let message = await_condition("joined-too", "Accepted", "False", "VniTaken");
    assert!(message.contains("already belongs to network joined"), "{message}");
    let ipam = json!({"type": "host-local", "subnet": "10.142.0.0/16"});
    scene.apply_network("ambiguous", &json!({"topology": topology, "ipam": ipam}));
    await_condition("ambiguous", "Accepted", "False", "AddressesNotUnique");
}
