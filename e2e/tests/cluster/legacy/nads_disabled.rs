//! Definitions of the legacy userspace CNI, where the controller is configured to create no
//! networks from them, or only in some namespaces.

use crate::support::cluster::{apply, get, kubectl, timeout, try_run};
use crate::support::control_plane::controllers::NAMESPACE;
use crate::support::scene::{Scene, wait_ready};
use serde_json::json;

const DEPLOYMENT: &str = "deployment/usnet-controller";

/// An option of the controllers, until this is dropped.
struct ControllerOption(&'static str);

impl ControllerOption {
    fn set(variable: &'static str, value: &str) -> Self {
        set_environment(&format!("{variable}={value}")).unwrap();
        Self(variable)
    }
}

impl Drop for ControllerOption {
    fn drop(&mut self) {
        if let Err(error) = set_environment(&format!("{}-", self.0)) {
            eprintln!("{error}");
        }
    }
}

/// Waits until all controllers run with it, and those without it have ended: a rollout is complete
/// while they still do.
fn set_environment(change: &str) -> Result<String, String> {
    let label = "app.kubernetes.io/component=controller";
    let old = try_run("kubectl", &["get", "pods", "-n", NAMESPACE, "-l", label, "-o", "name"], "")?;
    try_run("kubectl", &["set", "env", "-n", NAMESPACE, DEPLOYMENT, change], "")?;
    try_run("kubectl", &["rollout", "status", "-n", NAMESPACE, timeout(), DEPLOYMENT], "")?;
    let deleted = ["wait", "--for=delete", "-n", NAMESPACE, timeout()];
    try_run("kubectl", &deleted.into_iter().chain(old.lines()).collect::<Vec<_>>(), "")
}

fn define(scene: &Scene, bridge: &str) {
    let host = json!({
        "engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": {"bridgeName": bridge},
    });
    let config = json!({"cniVersion": "1.0.0", "type": "userspace", "name": "x", "host": host});
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": bridge, "namespace": scene.name}, "spec": {"config": config.to_string()},
    }));
}

/// A network of a person's that came after the definitions: the controller has seen these.
fn await_seen(scene: &Scene, network: &str) {
    scene.network(network, &json!({}));
}

#[test]
fn no_network_is_made_from_a_definition_where_that_is_disabled() {
    let scene = Scene::new("nolegacy");
    let option = ControllerOption::set("USNET_LEGACY_NADS", "Disabled");
    define(&scene, "br-refused");
    await_seen(&scene, "nolegacy");
    assert_eq!(get(&["usn", "ovs-br-refused"]), None);
    drop(option);
    wait_ready("ovs-br-refused");
    kubectl(&["delete", "net-attach-def", "br-refused", "-n", &scene.name]);
    kubectl(&["wait", "--for=delete", "usn/ovs-br-refused", timeout()]);
}

#[test]
fn definitions_of_selected_namespaces_alone_make_networks() {
    let (inside, outside) = (Scene::new("legacy-in"), Scene::new("legacy-out"));
    let _option = ControllerOption::set("USNET_LEGACY_NAD_NAMESPACES", "scene in (legacy-in,legacy-late)");
    define(&inside, "br-inside");
    define(&outside, "br-outside");
    wait_ready("ovs-br-inside");
    await_seen(&inside, "legacy-in");
    assert_eq!(get(&["usn", "ovs-br-outside"]), None);
    // It follows the labels of namespaces.
    kubectl(&["label", "namespace", &outside.name, "scene=legacy-late", "--overwrite"]);
    wait_ready("ovs-br-outside");
    for scene in [&inside, &outside] {
        kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    }
    for network in ["ovs-br-inside", "ovs-br-outside"] {
        kubectl(&["wait", "--for=delete", &format!("usn/{network}"), timeout()]);
    }
}
