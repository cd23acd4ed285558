//! An applied network: its bridges, definitions and status.

use crate::support::cluster::{NODES, apply, check, condition, eventually, get, kubectl, timeout, vsctl};
use crate::support::node_file::NodeFile;
use crate::support::scene::{Scene, await_condition, compiled, remains, wait_ready};
use serde_json::json;

#[test]
fn an_applied_network_has_its_bridge_on_every_node() {
    let scene = Scene::new("bridges");
    scene.network("bridges", &json!({"bridge": {"name": "br-scene", "mtu": 2000}}));
    for node in NODES {
        assert_eq!(vsctl(node, &["get", "Bridge", "br-scene", "datapath_type"]), "netdev");
        assert_eq!(vsctl(node, &["get", "Bridge", "br-scene", "external_ids:usnet.dev/network"]), "bridges");
        assert_eq!(vsctl(node, &["get", "Interface", "br-scene", "mtu"]), "2000");
    }
    let network = get(&["usn", "bridges"]).unwrap();
    assert_eq!(network["status"]["nodes"]["summary"], "2/2");
    assert_eq!(network["status"]["observedGeneration"], network["metadata"]["generation"]);
    for kind in ["Ready", "Accepted", "DefinitionsReady", "Programmed"] {
        assert_eq!(condition(&network, kind).unwrap()["status"], "True", "{kind}");
    }
}

#[test]
fn definitions_appear_in_selected_namespaces_only() {
    let (scene, other) = (Scene::new("selected"), Scene::new("unselected"));
    scene.network("selected", &json!({}));
    let definition =
        get(&["net-attach-def", "selected", "-n", &scene.name]).expect("a definition in the selected namespace");
    let config: serde_json::Value = serde_json::from_str(definition["spec"]["config"].as_str().unwrap()).unwrap();
    let capabilities =
        json!({"CNIDeviceInfoFile": true, "bandwidth": true, "ips": true, "mac": true, "portMappings": true});
    let expected = json!({
        "cniVersion": "1.1.0", "name": "selected", "type": "userspace", "network": "selected", "capabilities": capabilities
    });
    assert_eq!(config, expected);
    assert_eq!(get(&["net-attach-def", "selected", "-n", &other.name]), None);

    kubectl(&["label", "namespace", &other.name, "scene=selected", "--overwrite"]);
    eventually("the definition follows the label", || {
        get(&["net-attach-def", "selected", "-n", &other.name]).map(drop).ok_or_else(|| "not there".to_owned())
    });
    kubectl(&["label", "namespace", &other.name, "scene=unselected", "--overwrite"]);
    eventually("the definition goes with the label", || {
        check(get(&["net-attach-def", "selected", "-n", &other.name]).is_none(), "still there")
    });
}

#[test]
fn an_edited_definition_is_restored_and_one_of_a_user_is_left_alone() {
    let scene = Scene::new("definitions");
    let foreign = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "taken", "namespace": scene.name},
        "spec": {"config": "{\"cniVersion\":\"1.0.0\",\"type\":\"bridge\"}"},
    });
    apply(&foreign);
    scene.apply_network("taken", &json!({}));
    let message = await_condition("taken", "DefinitionsReady", "False", "NameConflict");
    assert!(message.contains("definitions/taken"), "{message}");
    assert_eq!(get(&["net-attach-def", "taken", "-n", &scene.name]).unwrap()["spec"], foreign["spec"]);

    scene.network("edited", &json!({}));
    let before = get(&["net-attach-def", "edited", "-n", &scene.name]).unwrap();
    kubectl(&[
        "patch",
        "net-attach-def",
        "edited",
        "-n",
        &scene.name,
        "--type=merge",
        "-p",
        r#"{"spec":{"config":"{}"}}"#,
    ]);
    eventually("the definition is healed", || {
        let observed = get(&["net-attach-def", "edited", "-n", &scene.name]).ok_or("gone")?;
        check(observed["spec"] == before["spec"], observed["spec"].to_string())
    });
}

#[test]
fn only_nodes_that_the_selector_names_get_the_bridge() {
    let scene = Scene::new("nodes");
    scene.network(
        "nodes",
        &json!({"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": "node-b"}}, "bridge": {"name": "br-nodes"}}),
    );
    assert_eq!(get(&["usn", "nodes"]).unwrap()["status"]["nodes"]["summary"], "1/1");
    assert!(!vsctl("node-a", &["list-br"]).contains("br-nodes"));
    assert!(vsctl("node-b", &["list-br"]).contains("br-nodes"));
}

#[test]
fn a_changed_mtu_is_changed_in_place() {
    let scene = Scene::new("mtu");
    scene.network("mtu", &json!({"bridge": {"name": "br-mtu", "mtu": 1500}}));
    let before = vsctl("node-a", &["get", "Bridge", "br-mtu", "_uuid"]);
    scene.apply_network("mtu", &json!({"bridge": {"name": "br-mtu", "mtu": 3000}}));
    wait_ready("mtu");
    eventually("the new MTU", || {
        let mtu = vsctl("node-a", &["get", "Interface", "br-mtu", "mtu"]);
        check(mtu == "3000", mtu)
    });
    assert_eq!(vsctl("node-a", &["get", "Bridge", "br-mtu", "_uuid"]), before);
}

#[test]
fn a_deleted_network_leaves_nothing() {
    let scene = Scene::new("deleted");
    scene.network("deleted", &json!({}));
    assert_ne!(remains("deleted"), Vec::<String>::new());
    kubectl(&["delete", "usn", "deleted", timeout()]);
    assert_eq!(remains("deleted"), Vec::<String>::new());
    assert_eq!(get(&["net-attach-def", "deleted", "-n", &scene.name]), None);
    eventually("nothing of it is left for agents", || check(compiled("deleted").is_none(), "still there"));
    for node in NODES {
        eventually("the node does not keep it for its next start", || {
            let file = NodeFile::read(node)?;
            check(!file.names().any(|name| name == "deleted"), format!("{file:?}"))
        });
    }
}
