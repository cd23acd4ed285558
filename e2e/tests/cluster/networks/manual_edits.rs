//! Compiled networks and node states that are deleted or edited manually. Policies allow that only
//! to the controller, so the tests impersonate it.

use crate::support::cluster::{NODES, check, condition, eventually, get, kubectl, try_run, vsctl};
use crate::support::control_plane::tokens::AS_CONTROLLER;
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};

/// Checks that a policy refuses a request of an administrator, with `refusal` in the message, and
/// allows it to the controller.
fn as_controller(arguments: &[&str], refusal: &str) {
    let answer = try_run("kubectl", arguments, "").expect_err(refusal);
    assert!(answer.contains(refusal), "{answer}");
    kubectl(&[&AS_CONTROLLER, arguments].concat());
}

fn edit(kind: &str, name: &str, patch: &Value) {
    as_controller(
        &["patch", kind, name, "--type=merge", "-p", &patch.to_string()],
        "only the controller of usnet writes",
    );
}

/// The bridges of a network on all nodes, and its ports on the first: other ones would have other
/// ids.
fn on_nodes(network: &str) -> Vec<String> {
    let bridge = format!("br-{network}");
    let bridges = NODES.map(|node| vsctl(node, &["get", "Bridge", &bridge, "_uuid"]));
    let ports = vsctl(NODE, &["--bare", "--columns=ports", "list", "Bridge", &bridge]);
    [bridges.as_slice(), &[ports]].concat()
}

/// Waits until there is another object of that name, and gives it.
fn await_another(kind: &str, name: &str, uid: &Value) -> Value {
    eventually(&format!("another {kind} {name}"), || {
        let object = get(&[kind, name]).ok_or("none")?;
        check(object["metadata"]["uid"] != *uid, "still the first")?;
        Ok(object)
    })
}

#[test]
fn a_deleted_compiled_network_is_recreated_and_nodes_keep_their_networks() {
    let scene = Scene::new("rewritten");
    scene.network("rewritten", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "rewritten"));
    let (before, first) = (on_nodes("rewritten"), get(&["ucn", "rewritten"]).unwrap());
    as_controller(&["delete", "ucn", "rewritten", "--wait=false"], "only the controller of usnet deletes");

    let second = await_another("ucn", "rewritten", &first["metadata"]["uid"]);
    assert_eq!(second["spec"], first["spec"]);
    wait_ready("rewritten");
    // A change is carried out by nodes that took the other one over.
    scene.apply_network("rewritten", &json!({"bridge": {"mtu": 1400}}));
    wait_ready("rewritten");
    NODES.iter().for_each(|node| assert_eq!(vsctl(node, &["get", "Interface", "br-rewritten", "mtu_request"]), "1400"));
    assert_eq!(on_nodes("rewritten"), before);
}

#[test]
fn an_edited_compiled_network_is_restored_and_so_are_nodes() {
    let scene = Scene::new("putback");
    scene.network("putback", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "putback"));
    let first = get(&["ucn", "putback"]).unwrap();
    let nowhere = json!({"matchLabels": {"usnet.dev/judged": "nowhere"}});
    for edited in [
        json!({"bridge": {"mtu": 1300}}),
        json!({"phase": "Draining"}),
        json!({"nodeSelector": nowhere}),
        json!({"namespaces": {"all": true}}),
    ] {
        edit("ucn", "putback", &json!({"spec": edited}));
        eventually("it is put back", || {
            let object = get(&["ucn", "putback"]).ok_or("it is gone")?;
            check(object["spec"] == first["spec"], object["spec"].to_string())
        });
        wait_ready("putback");
    }
    for node in NODES {
        eventually("the bridge is as it was", || {
            let mtu = try_run("on-node", &[node, "ovs-vsctl", "get", "Interface", "br-putback", "mtu_request"], "")?;
            check(mtu.trim() == "1500", mtu)
        });
    }
    start(&scene, &sleeping_pod(&scene, "second", "putback"));
    assert_eq!(vsctl(NODE, &["list-ports", "br-putback"]).lines().count(), 2);
}

#[test]
fn a_deleted_node_state_is_recreated_and_the_node_keeps_its_networks() {
    let scene = Scene::new("restated");
    scene.network("restated", &json!({}));
    start(&scene, &sleeping_pod(&scene, "user", "restated"));
    let (before, first) = (on_nodes("restated"), get(&["usns", NODE]).unwrap());
    as_controller(&["delete", "usns", NODE, "--wait=false"], "only the controller of usnet deletes");

    let second = await_another("usns", NODE, &first["metadata"]["uid"]);
    assert_eq!(second["spec"]["labels"], first["spec"]["labels"]);
    eventually("the node answers for the new one", || {
        let state = get(&["usns", NODE]).ok_or("none")?;
        let status = &state["status"];
        let counts = status["networks"].as_array().into_iter().flatten();
        let is_counted = counts.into_iter().any(|it| it["name"] == "restated" && it["attachments"] == 1);
        let answers = status["observedGeneration"] == state["metadata"]["generation"] && is_counted;
        check(answers && condition(&state, "Ready").is_some(), state.to_string())
    });
    wait_ready("restated");
    let numbers: Vec<Value> = NODES.map(|node| get(&["usns", node]).unwrap()["spec"]["number"].clone()).into();
    assert_ne!(numbers[0], numbers[1], "two nodes have the same number");
    assert_eq!(on_nodes("restated"), before);
}

#[test]
fn an_edited_node_state_is_restored_and_so_is_the_node() {
    let scene = Scene::new("relabelled");
    let selector = json!({"matchLabels": {"kubernetes.io/hostname": "node-b"}});
    scene.network("relabelled", &json!({"nodeSelector": selector}));
    let labels = || get(&["usns", "node-b"]).unwrap()["spec"]["labels"].clone();
    let before = labels();
    edit("usns", "node-b", &json!({"spec": {"labels": {"kubernetes.io/hostname": null, "zone": "nowhere"}}}));
    eventually("the labels are those of the node", || check(labels() == before, labels().to_string()));
    eventually("the bridge is there", || {
        try_run("on-node", &["node-b", "ovs-vsctl", "br-exists", "br-relabelled"], "")
    });
    wait_ready("relabelled");
    assert_eq!(get(&["usn", "relabelled"]).unwrap()["status"]["nodes"]["summary"], "1/1");
}
