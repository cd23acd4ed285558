//! Mistakes of users, and how they are reported.

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, timeout, try_apply};
use crate::support::pods::{NODE, sleeping_pod, uid};
use crate::support::scene::Scene;
use serde_json::{Value, json};

/// The API server must refuse a network with that spec, in words that contain all of these.
fn refused(scene: &Scene, spec: &Value, words: &[&str]) {
    let answer = try_apply(&scene.manifest("refused", spec)).expect_err(&format!("{spec} was accepted"));
    for word in words {
        assert!(answer.contains(word), "{spec} was refused without the word {word:?}: {answer}");
    }
    assert_eq!(get(&["usn", "refused"]), None);
}

#[test]
fn a_network_that_breaks_a_rule_is_refused_with_field_and_reason() {
    let scene = Scene::new("refused");
    refused(&scene, &json!({"bridge": {"name": "a-name-of-16-chr"}}), &["spec.bridge.name", "15"]);
    refused(&scene, &json!({"bridge": {"name": "a/b"}}), &["spec.bridge.name"]);
    refused(&scene, &json!({"bridge": {"name": "ovs-netdev"}}), &["spec.bridge", "reserved"]);
    refused(&scene, &json!({"bridge": {"mtu": 575}}), &["spec.bridge.mtu", "576"]);
    refused(&scene, &json!({"bridge": {"mtu": 99_999}}), &["spec.bridge.mtu", "9702"]);
    refused(&scene, &json!({"port": {"type": "Memif"}}), &["spec.port.type", "VhostUser"]);
    refused(&scene, &json!({"port": {"vlan": {"mode": "Access", "tag": 4095}}}), &["spec.port.vlan.tag", "4094"]);
    refused(&scene, &json!({"port": {"vlan": {"mode": "Access"}}}), &["spec.port.vlan.tag"]);
    refused(&scene, &json!({"engine": "Linux"}), &["spec.engine", "OVS"]);
    refused(
        &scene,
        &json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.300.0/24"}]]}}),
        &["spec.ipam", "CIDR"],
    );
    refused(&scene, &json!({"ipam": {"ranges": []}}), &["spec.ipam.type"]);
    refused(&scene, &json!({"surprise": true}), &["surprise"]);
}

#[test]
fn a_network_without_a_selector_or_with_a_bad_name_is_refused() {
    let scene = Scene::new("selector");
    let mut manifest = scene.manifest("selector", &json!({}));
    manifest["spec"].as_object_mut().unwrap().remove("namespaceSelector");
    let answer = try_apply(&manifest).unwrap_err();
    assert!(answer.contains("spec.namespaceSelector"), "{answer}");
    let answer = try_apply(&scene.manifest("dotted.name", &json!({}))).unwrap_err();
    assert!(answer.contains("metadata.name") || answer.contains("DNS label"), "{answer}");
}

#[test]
fn what_cannot_change_is_refused_and_nothing_is_lost() {
    let scene = Scene::new("fixed");
    scene.network("fixed", &json!({"bridge": {"name": "br-fixed"}}));
    let change = json!({"bridge": {"name": "br-fixed", "ownership": "Adopted"}});
    let answer = try_apply(&scene.manifest("fixed", &change)).expect_err(&change.to_string());
    assert!(answer.contains("spec.bridge.ownership") && answer.contains("cannot"), "{answer}");
    assert_eq!(get(&["usn", "fixed"]).unwrap()["spec"]["bridge"], json!({"name": "br-fixed"}));
}

#[test]
fn a_pod_without_the_volume_is_rejected_with_advice_and_leaves_nothing() {
    let scene = Scene::new("novolume");
    scene.network("novolume", &json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.4.0/24"}]]}}));
    let mut pod = sleeping_pod(&scene, "bare", "novolume");
    pod["spec"]["volumes"] = json!([]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    apply(&pod);
    scene.await_refusal("bare", &["usnet[102 NoVolume]: ", "emptyDir"]);
    assert_nothing_left(&scene, "bare", "novolume");
}

#[test]
fn a_namespace_that_is_not_selected_is_refused_even_with_a_copied_definition() {
    let (scene, outside) = (Scene::new("inside"), Scene::new("outside"));
    scene.network("inside", &json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.5.0/24"}]]}}));
    let mut copy = get(&["net-attach-def", "inside", "-n", &scene.name]).unwrap();
    copy["metadata"] = json!({"name": "inside", "namespace": outside.name});
    apply(&copy);
    apply(&sleeping_pod(&outside, "intruder", "inside"));
    outside.await_refusal("intruder", &["usnet[100 NamespaceNotAllowed]: ", "namespaceSelector (scene=inside)"]);
    assert_nothing_left(&outside, "intruder", "inside");
}

#[test]
fn an_unknown_network_is_named() {
    let scene = Scene::new("unknown");
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "nowhere", "namespace": scene.name},
        "spec": {"config": r#"{"cniVersion":"1.1.0","name":"nowhere","type":"userspace","network":"nowhere"}"#},
    }));
    apply(&sleeping_pod(&scene, "lost", "nowhere"));
    scene.await_refusal("lost", &["usnet[11 NetworkUnknown]: ", "nowhere", "kubectl get usn"]);
    assert_nothing_left(&scene, "lost", "nowhere");
}

#[test]
fn two_networks_cannot_have_one_bridge() {
    let scene = Scene::new("shared-bridge");
    scene.network("shared-1", &json!({"bridge": {"name": "br-shared"}}));
    scene.apply_network("shared-2", &json!({"bridge": {"name": "br-shared"}}));
    let message = crate::support::scene::await_condition("shared-2", "Accepted", "False", "BridgeConflict");
    assert!(message.contains("shared-1") && message.contains("br-shared"), "{message}");
    crate::support::scene::wait_ready("shared-1");
    // When the first goes, the second takes its place.
    kubectl(&["delete", "usn", "shared-1", timeout()]);
    crate::support::scene::wait_ready("shared-2");
}

/// Nothing of a refused pod in Open vSwitch, in IPAM's folder, or on the node's disk. Its own
/// folder is kubelet's.
fn assert_nothing_left(scene: &Scene, pod: &str, network: &str) {
    let uid = uid(scene, pod);
    let script = format!(
        "grep -ls '{uid}' /var/lib/usnet/attachments/*; ls -d /run/usnet/ports/*{uid}* 2>/dev/null; \
         ovs-vsctl --bare --columns=options list Interface | grep '{uid}'; ls /var/lib/cni/networks/{network} 2>/dev/null | grep '^10'; true"
    );
    // The runtime tries again and again; between two tries nothing must be there.
    eventually("nothing is left of the refused pod", || {
        let left = on_node(NODE, &["sh", "-c", &script]);
        check(left.is_empty(), left)
    });
}
