//! Definitions of users in each version of the CNI specification, through Multus.

use crate::support::cluster::{apply, check, eventually, get, vsctl};
use crate::support::pods::{NODE, description, remains, sleeping_pod, start, uid};
use crate::support::scene::Scene;
use serde_json::{Value, json};

/// The empty one means no version: such a definition has no key.
const VERSIONS: [&str; 8] = ["", "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];

/// A definition of a person's, as one plugin or as a list of them.
fn definition(scene: &Scene, version: &str, in_list: bool) -> (String, Value) {
    let plugin = json!({"type": "userspace", "network": "versions"});
    let mut config = json!({"name": "of-a-person"});
    if !version.is_empty() {
        config["cniVersion"] = json!(version);
    }
    if in_list {
        config["plugins"] = json!([plugin]);
    } else {
        plugin.as_object().unwrap().iter().for_each(|(key, value)| config[key] = value.clone());
    }
    let name = format!("v{}{}", version.replace('.', "-"), if in_list { "-list" } else { "" });
    let definition = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": scene.name}, "spec": {"config": config.to_string()},
    });
    (name, definition)
}

#[test]
fn a_definition_of_each_version_attaches_its_pod() {
    let scene = Scene::new("versions");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.58.0.0/24"}]]});
    scene.network("versions", &json!({"ipam": ipam}));
    let all =
        VERSIONS.iter().flat_map(|version| [definition(&scene, version, false), definition(&scene, version, true)]);
    let (names, definitions): (Vec<_>, Vec<_>) = all.unzip();
    definitions.iter().for_each(apply);
    start(&scene, &sleeping_pod(&scene, "all", &names.join(",")));

    let observed = get(&["pod", "all", "-n", &scene.name]).unwrap();
    let status = observed["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Vec<Value> = serde_json::from_str(status).unwrap();
    let versions = VERSIONS.iter().flat_map(|version| [version, version]);
    for ((name, version), number) in names.iter().zip(versions).zip(1..) {
        let interface = format!("net{number}");
        let reported = description(&scene, "all", &interface);
        // Results of earlier versions name no interface, by which Multus would tell.
        if *version < "0.3" {
            assert!(reported["ips"][0]["address"].as_str().unwrap().starts_with("10.58.0."), "{reported}");
            continue;
        }
        let entry = status.iter().find(|entry| entry["interface"] == interface).unwrap_or_else(|| panic!("{status:?}"));
        assert_eq!(entry["name"], format!("{}/{name}", scene.name));
        assert_eq!(entry["mac"], reported["mac"], "{entry} {reported}");
        let address = entry["ips"][0].as_str().unwrap();
        assert!(
            reported["ips"][0]["address"].as_str().unwrap().starts_with(&format!("{address}/")),
            "{entry} {reported}"
        );
    }
    assert_eq!(vsctl(NODE, &["list-ports", "br-versions"]).lines().count(), names.len());
    let gone = uid(&scene, "all");
    scene.delete_pod("all");
    eventually("everything of the pod is gone", || check(remains(&gone).is_empty(), remains(&gone)));
    assert_eq!(vsctl(NODE, &["list-ports", "br-versions"]), "");
}
