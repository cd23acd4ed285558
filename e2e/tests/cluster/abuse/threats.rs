//! What tenants and accidents may not achieve: other namespaces' networks, bridges of others, words
//! of others in our logs, our secrets, trust in a node that is gone. What stolen tokens may not
//! achieve is in `guards`; definitions of others and two networks with one bridge are in `networks`
//! and `bad_input`.

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, run, timeout, try_run, vsctl};
use crate::support::pods::{NODE, description, sleeping_pod, start, wait_running};
use crate::support::scene::{Scene, agent_log, await_condition, wait_ready};
use serde_json::{Value, json};

/// A line that looks like one of a log.
pub(crate) const FORGED: &str = "2026-01-01T00:00:00.000000Z  INFO forged";

#[test]
fn a_pod_may_not_use_a_definition_of_a_namespace_that_its_network_does_not_select() {
    let (inside, outside) = (Scene::new("tenant"), Scene::new("intruder"));
    inside.network("tenant", &json!({}));
    apply(&sleeping_pod(&outside, "pod", "tenant/tenant"));
    outside.await_refusal("pod", &["intruder", "namespaceSelector"]);
    assert_eq!(vsctl(NODE, &["list-ports", "br-tenant"]), "");
    // It is the selector that refused: a namespace that it selects may.
    kubectl(&["label", "namespace", "intruder", "scene=tenant", "--overwrite"]);
    wait_running(&outside, "pod");
}

#[test]
fn a_foreign_bridge_stays_unchanged_by_a_network_and_its_deletion() {
    let scene = Scene::new("others");
    vsctl(NODE, &["--no-wait", "add-br", "br-others", "--", "set", "Bridge", "br-others", "datapath_type=netdev"]);
    vsctl(NODE, &["--no-wait", "set", "Bridge", "br-others", "external_ids:owner=another"]);
    let show =
        || vsctl(NODE, &["--columns=_uuid,external_ids,ports,other_config,controller", "list", "Bridge", "br-others"]);
    let before = show();
    scene.apply_network("others", &json!({"bridge": {"name": "br-others"}}));
    await_condition("others", "Programmed", "False", "BridgeExists");
    apply(&sleeping_pod(&scene, "pod", "others"));
    scene.await_refusal("pod", &["BridgeExists"]);
    assert_eq!(show(), before);
    scene.delete_pod("pod");
    kubectl(&["delete", "usn", "others", timeout()]);
    assert_eq!(show(), before);
    vsctl(NODE, &["--no-wait", "del-br", "br-others"]);
}

#[test]
fn a_recreated_node_with_the_same_name_has_a_state_of_its_own() {
    let scene = Scene::new("again");
    scene.network("again", &json!({}));
    let uid = |kind: &str| get(&[kind, "node-b"]).map(|object| object["metadata"]["uid"].clone());
    let (old_node, old_state) = (uid("node"), uid("usns"));
    run("component", &["stop", "kubelet", "node-b"]);
    kubectl(&["delete", "node", "node-b"]);
    run("component", &["start", "kubelet", "node-b"]);
    eventually("another state, of the other node", || {
        let state = get(&["usns", "node-b"]).ok_or("no state")?;
        let owner = &state["metadata"]["ownerReferences"][0]["uid"];
        let is_new = uid("node") != old_node && Some(&state["metadata"]["uid"]) != old_state.as_ref();
        check(is_new && Some(owner) == uid("node").as_ref(), state.to_string())
    });
    eventually("the node answers for itself", || {
        let summary = get(&["usn", "again"]).unwrap()["status"]["nodes"]["summary"].clone();
        check(summary == "2/2", summary.to_string())
    });
    wait_ready("again");
}

#[test]
fn text_of_a_tenant_cannot_forge_lines_of_a_log() {
    let scene = Scene::new("forger");
    let name = format!("lost\n{FORGED}\u{1b}[2J");
    let config = json!({"cniVersion": "1.1.0", "name": "forger", "type": "userspace", "network": name});
    apply(&json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "forger", "namespace": scene.name}, "spec": {"config": config.to_string()},
    }));
    apply(&sleeping_pod(&scene, "pod", "forger"));
    scene.await_refusal("pod", &["forged"]);
    assert_unforged(&scene.events("pod"));

    // Open vSwitch takes any text as the name of a port, and our messages name ports that keep a
    // bridge from going.
    scene.network("forged", &json!({}));
    let port = format!("p\n{FORGED}\u{1b}[2J");
    vsctl(NODE, &["--no-wait", "add-port", "br-forged", &port]);
    kubectl(&["delete", "usn", "forged", "--wait=false"]);
    let message = await_condition("forged", "DeletionBlocked", "True", "ForeignPorts");
    assert!(message.contains("forged"), "{message}");
    assert_unforged(&message);
    assert_unforged(&agent_log(NODE));
    assert_unforged(&controller_log());
    vsctl(NODE, &["--no-wait", "del-port", "br-forged", &port]);
}

pub(crate) fn assert_unforged(text: &str) {
    assert!(!text.contains(&format!("\n{FORGED}")), "a line was forged: {text}");
    assert!(!text.contains("\u{1b}[2J"), "a terminal would obey this: {text:?}");
}

pub(crate) fn controller_log() -> String {
    kubectl(&["logs", "-n", "usnet-system", "-l", "app.kubernetes.io/component=controller", "--tail=-1"])
}

#[test]
fn the_secret_of_a_memif_is_given_to_its_pod_alone() {
    let scene = Scene::new("secret");
    scene.network("secret", &json!({"engine": "VPP", "port": {"type": "Memif", "memif": {"secret": "Generated"}}}));
    start(&scene, &sleeping_pod(&scene, "keeper", "secret"));
    eventually("the status counts the pod", || {
        let observed = get(&["usn", "secret"]).unwrap()["status"]["attachments"].clone();
        check(observed == 1, observed.to_string())
    });
    let described: Value = description(&scene, "keeper", "net1");
    let secret = described["secret"].as_str().unwrap_or_else(|| panic!("{described}"));
    assert!(secret.len() >= 16, "{described}");
    let objects = kubectl(&["get", "usn,ucn,usns,net-attach-def,pods,events", "-A", "-o", "json"]);
    for (place, text) in
        [("the API", objects), ("the agent's log", agent_log(NODE)), ("the controller's log", controller_log())]
    {
        assert!(!text.contains(secret), "the secret is in {place}");
    }
    // Logs of the runtime, of Multus and of the API server; Multus' own log is there only when it
    // is asked for more words.
    let testbed = std::env::var("USNET_WORLD").unwrap();
    let found = |folder: &str| try_run("grep", &["-rlF", secret, folder], "").unwrap_or_default();
    assert_eq!(found(&format!("{testbed}/logs")), "");
    assert_eq!(on_node(NODE, &["sh", "-c", &format!("grep -rlF '{secret}' /var/log || true")]), "");
}
