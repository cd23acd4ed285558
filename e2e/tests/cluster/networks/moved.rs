//! A network that no pod uses may get another bridge or engine; one that a pod uses may not.

use crate::support::cluster::{NODES, check, eventually, get, try_apply, vsctl};
use crate::support::kubectl_usnet::usnet_with_input;
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, await_counted, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

/// The bridges of the network, of each node.
fn bridges(network: &str) -> Vec<String> {
    let marked = format!("external_ids:usnet.dev/network={network}");
    let of_node = |node| vsctl(node, &["--bare", "--columns=name", "find", "Bridge", &marked]);
    NODES.map(|node| of_node(node).split_whitespace().collect::<Vec<_>>().join(" ")).into()
}

/// Applies this, and waits until each node has this bridge of Open vSwitch alone.
#[track_caller]
fn moves_to(scene: &Scene, spec: &Value, bridge: &str) {
    scene.apply_network("moved", spec);
    wait_ready("moved");
    eventually("the bridge", || {
        let bridges = bridges("moved");
        check(bridges.iter().all(|found| found == bridge), format!("{bridges:?}"))
    });
}

#[test]
fn an_unused_network_moves_to_another_bridge_and_engine_and_a_used_one_does_not() {
    let scene = Scene::new("moved");
    let spec = |engine: &str, bridge: &Value| json!({"engine": engine, "bridge": bridge, "port": {"type": "Veth"}, "topology": {"type": "Overlay"}});
    let (first, second) = (spec("OVS", &json!({"name": "br-moved-a"})), spec("OVS", &json!({"name": "br-moved-b"})));
    moves_to(&scene, &first, "br-moved-a");
    let uid = get(&["usn", "moved"]).unwrap()["metadata"]["uid"].clone();
    let plan = usnet_with_input(&["plan", "-f", "-", "-o", "json"], &scene.manifest("moved", &second).to_string());
    for operation in ["remove bridge br-moved-a", "create bridge br-moved-b"] {
        assert!(plan.status == 1 && plan.stdout.contains(operation), "{operation}: {plan:?}");
    }
    moves_to(&scene, &second, "br-moved-b");
    moves_to(&scene, &spec("OVS", &json!({})), "br-moved");
    moves_to(&scene, &spec("VPP", &json!({})), "");
    let has_domain = |node| vpp::tags(node).iter().any(|tag| tag.contains("moved"));
    NODES.iter().for_each(|node| assert!(has_domain(node), "{node}: {:?}", vpp::tags(node)));
    moves_to(&scene, &spec("VPP", &json!({"id": 4711})), "");
    moves_to(&scene, &first, "br-moved-a");
    for node in NODES {
        eventually("nothing is left in VPP", || check(!has_domain(node), format!("{:?}", vpp::tags(node))));
    }

    start(&scene, &sleeping_pod(&scene, "user", "moved"));
    await_counted("moved", 1);
    let before = vsctl(NODE, &["list-ports", "br-moved-a"]);
    for (refused, field) in [(&second, "spec.bridge.name"), (&spec("VPP", &json!({})), "spec.engine")] {
        let words = try_apply(&scene.manifest("moved", refused)).expect_err("a pod uses it");
        assert!(words.contains(field) && words.contains("in a repository in an earlier commit"), "{words}");
    }
    assert_eq!(vsctl(NODE, &["list-ports", "br-moved-a"]), before);
    scene.delete_pod("user");
    await_counted("moved", 0);
    moves_to(&scene, &second, "br-moved-b");
    assert_eq!(get(&["usn", "moved"]).unwrap()["metadata"]["uid"], uid);
}
