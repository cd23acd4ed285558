//! Ports of resource claims, which are attached before the pod has a sandbox, by a separate
//! container id.

use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration};
use serde_json::json;
use std::fs;

on_each_engine! {
    a_claim_has_its_socket_in_a_folder_of_its_own,
    a_claim_is_neither_a_previous_sandbox_nor_garbage_of_the_runtime,
}

/// A pod without a volume whose claim is prepared.
fn claim(node: &TestNode) -> Pod {
    let pod = node.pod("a");
    fs::remove_dir(&pod.volume).unwrap();
    Pod { container: "claim-c1".into(), ..pod }
}

fn a_claim_has_its_socket_in_a_folder_of_its_own(node: &mut TestNode) {
    let claim = claim(node);
    let result = node.add(&claim, "claim1").result();
    let socket = result["interfaces"][0]["socketPath"].as_str().unwrap().to_owned();
    let folder = node.paths.claim_folders().join("c1.claim1");
    assert!(folder.join("claim1.json").exists(), "{result}");
    assert!(node.mounts().iter().any(|(mount, _)| *mount == folder));
    assert!(socket.ends_with(&format!("{}.claim1/claim1.sock", claim.uid)), "{socket}");
    node.del(&claim, "claim1").assert_done();
    assert!(!folder.exists());
    node.assert_clean();
}

/// The sandbox of the pod comes later, and Multus may attach other networks to it.
fn a_claim_is_neither_a_previous_sandbox_nor_garbage_of_the_runtime(node: &mut TestNode) {
    let claim = claim(node);
    node.add(&claim, "net1").result();
    let sandbox = Pod { container: "1".repeat(64), ..claim.clone() };
    fs::create_dir_all(&sandbox.volume).unwrap();
    let refused = node.add(&sandbox, "net1").error();
    assert!(refused["msg"].as_str().unwrap().contains("already attached"), "{refused}");
    let mut none = configuration(NETWORK);
    none["cni.dev/valid-attachments"] = json!([]);
    node.call("GC", &sandbox, "net1", &none).assert_done();
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.add(&sandbox, "net2").result();
    node.del(&sandbox, "net2").assert_done();
    node.del(&claim, "net1").assert_done();
    node.assert_clean();
}
