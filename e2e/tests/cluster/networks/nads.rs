//! The namespaces of a network's definitions, and conflicts of names.

use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, vsctl};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{Scene, await_condition, wait_ready};
use serde_json::{Value, json};

const SHARED_NAMESPACE: &str = "usnet-system";

fn definition(namespace: &str, name: &str) -> Option<Value> {
    get(&["net-attach-def", name, "-n", namespace])
}

fn await_definition(namespace: &str, name: &str, is_there: bool) {
    eventually(&format!("definition {namespace}/{name} is there: {is_there}"), || {
        check(definition(namespace, name).is_some() == is_there, "not so")
    });
}

#[test]
fn a_name_that_is_taken_concerns_one_namespace_alone() {
    let (scene, tenant) = (Scene::new("taken"), Scene::new("taken-tenant"));
    kubectl(&["label", "namespace", &tenant.name, "scene=taken", "--overwrite"]);
    let theirs = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "taken", "namespace": tenant.name},
        "spec": {"config": r#"{"cniVersion":"1.0.0","type":"bridge"}"#},
    });
    apply(&theirs);
    scene.apply_network("taken", &json!({}));

    let message = await_condition("taken", "DefinitionsReady", "False", "NameConflict");
    assert!(message.contains("taken-tenant/taken"), "{message}");
    wait_ready("taken");
    let network = get(&["usn", "taken"]).unwrap();
    for kind in ["Accepted", "Programmed", "Ready"] {
        assert_eq!(condition(&network, kind).unwrap()["status"], "True", "{kind}: {}", network["status"]);
    }
    assert!(condition(&network, "Stalled").is_none(), "{}", network["status"]);
    start(&scene, &sleeping_pod(&scene, "user", "taken"));
    // Pods of the other namespace may name the definition of this one.
    start(&tenant, &sleeping_pod(&tenant, "guest", "taken/taken"));
    assert_eq!(vsctl(NODE, &["list-ports", "br-taken"]).lines().count(), 2);
    assert_eq!(definition(&tenant.name, "taken").unwrap()["spec"], theirs["spec"]);

    kubectl(&["delete", "net-attach-def", "taken", "-n", &tenant.name]);
    await_definition(&tenant.name, "taken", true);
    await_condition("taken", "DefinitionsReady", "True", "Synced");
}

#[test]
fn a_shared_definition_serves_the_selected_namespaces_and_no_other() {
    let (scene, outside) = (Scene::new("shared-one"), Scene::new("shared-none"));
    scene.network("shared-one", &json!({"definitions": "Shared"}));
    assert!(definition(SHARED_NAMESPACE, "shared-one").is_some());
    assert_eq!(definition(&scene.name, "shared-one"), None);

    start(&scene, &sleeping_pod(&scene, "user", "usnet-system/shared-one"));
    assert_eq!(vsctl(NODE, &["list-ports", "br-shared-one"]).lines().count(), 1);
    apply(&sleeping_pod(&outside, "intruder", "usnet-system/shared-one"));
    outside.await_refusal("intruder", &["shared-none", "namespaceSelector"]);
    assert_eq!(vsctl(NODE, &["list-ports", "br-shared-one"]).lines().count(), 1);
    outside.delete_pod("intruder");
    scene.delete_pod("user");
    kubectl(&["delete", "usn", "shared-one", crate::support::cluster::timeout()]);
    assert_eq!(definition(SHARED_NAMESPACE, "shared-one"), None);
}

#[test]
fn definitions_move_when_the_network_says_so() {
    let scene = Scene::new("moving");
    for (definitions, is_shared) in [("PerNamespace", false), ("Shared", true), ("PerNamespace", false)] {
        scene.apply_network("moving", &json!({"definitions": definitions}));
        await_definition(SHARED_NAMESPACE, "moving", is_shared);
        await_definition(&scene.name, "moving", !is_shared);
        wait_ready("moving");
    }
}

#[test]
fn an_empty_selector_leaves_out_the_namespaces_of_the_system() {
    let scene = Scene::new("everywhere");
    scene.network("everywhere", &json!({"namespaceSelector": {}}));
    await_definition(&scene.name, "everywhere", true);
    for namespace in ["kube-system", "kube-public", "kube-node-lease", SHARED_NAMESPACE] {
        assert_eq!(definition(namespace, "everywhere"), None, "{namespace}");
    }
    let by_name = json!({"matchLabels": {"kubernetes.io/metadata.name": "kube-public"}});
    scene.network("by-name", &json!({"namespaceSelector": by_name}));
    await_definition("kube-public", "by-name", true);
}
