//! Networks, their definitions, and networks on the node of the pod.

use super::{check, cluster, selecting, waiting};
use crate::model::testing::{
    add, add_network, attached, condition, definition_object, merge, network_object, network_report, node_object,
    pod_object, snapshot, state_object, usnet_pod,
};
use serde_json::json;

#[test]
fn namespace_without_the_label() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    add(&mut snapshot, &json!({"kind": "Namespace", "metadata": {"name": "web"}}));
    check(&mut snapshot, &waiting(), "NamespaceNotSelected", &["kubectl label namespace web team=a"]);
}

#[test]
fn misspelt_network() {
    check(&mut cluster(), &selecting("bleu"), "UnknownNetwork", &["UserspaceNetwork bleu", "write blue if"]);
}

#[test]
fn misspelt_namespace() {
    let words = ["no namespace wep", "write web/blue if"];
    check(&mut cluster(), &selecting("wep/blue"), "UnknownNamespace", &words);
}

#[test]
fn definition_of_a_network_that_does_not_exist() {
    let mut snapshot = cluster();
    let mut definition = definition_object("web", "other");
    merge(&mut definition, &json!({"metadata": {"ownerReferences": null, "labels": null}}));
    add(&mut snapshot, &definition);
    check(&mut snapshot, &selecting("other"), "UnknownNetwork", &["web/other names UserspaceNetwork other"]);
}

#[test]
fn rejected_network() {
    let mut snapshot = snapshot();
    let mut network = network_object("blue", &json!({"bridge": {"mtu": 1}}));
    network["status"]["conditions"][1] = condition("Accepted", "False", "Invalid", "spec.bridge.mtu is 1");
    add(&mut snapshot, &network);
    check(&mut snapshot, &waiting(), "NetworkRejected", &["spec.bridge.mtu is 1", "correct the field"]);
}

#[test]
fn network_that_is_being_deleted() {
    let mut snapshot = cluster();
    let mut network = network_object("blue", &json!({}));
    network["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:40:00Z");
    add_network(&mut snapshot, &network);
    check(&mut snapshot, &waiting(), "NetworkDeleting", &["accepts no new pods"]);
}

#[test]
fn definition_of_another_plugin() {
    let mut snapshot = cluster();
    let foreign = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "blue"}, "spec": {"config": r#"{"type": "bridge"}"#}});
    add(&mut snapshot, &foreign);
    check(&mut snapshot, &waiting(), "ForeignDefinition", &["web/blue is for another plugin"]);
}

#[test]
fn definition_that_cannot_be_used() {
    let mut snapshot = cluster();
    let invalid = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "mine"}, "spec": {"config": r#"{"type": "userspace"}"#}});
    add(&mut snapshot, &invalid);
    check(&mut snapshot, &selecting("mine"), "InvalidDefinition", &["neither \"network\" nor \"host\""]);
}

#[test]
fn definition_that_is_shared() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    add(&mut snapshot, &network_object("blue", &json!({"definitions": "Shared"})));
    add(&mut snapshot, &definition_object("usnet-system", "blue"));
    check(&mut snapshot, &waiting(), "SharedDefinition", &["write usnet-system/blue"]);
    check(&mut snapshot, &selecting("usnet-system/blue"), "Starting", &["usnet-system/blue"]);
}

#[test]
fn definition_that_is_not_there_yet() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    check(&mut snapshot, &waiting(), "DefinitionMissing", &["the controller creates it"]);
}

#[test]
fn node_that_the_network_does_not_select() {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"nodeSelector": {"matchLabels": {"rack": "b"}}})));
    check(
        &mut snapshot,
        &waiting(),
        "NodeNotSelected",
        &["\"rack=b\" is required, and label rack of the node is \"a\""],
    );
}

#[test]
fn engine_that_the_node_does_not_have() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["conditions"][1] =
        condition("OVSConnected", "False", "NeverSeen", "no socket /run/openvswitch/db.sock");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "EngineNeverSeen", &["start Open vSwitch on node node-a", "db.sock"]);
}

#[test]
fn engine_that_ended() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "Disconnected", "connection refused");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "EngineUnreachable", &["start ovsdb-server and ovs-vswitchd on the node"]);
    check(&mut snapshot, &pod_object("app", &attached()), "EngineUnreachable", &["net1, network blue"]);
}

#[test]
fn network_that_fails_on_the_node() {
    let mut snapshot = cluster();
    let failed = network_report(
        "blue",
        "Failed",
        &json!({"reason": "BridgeExists", "message": "bridge br-blue is not owned by usnet"}),
    );
    add(&mut snapshot, &state_object("node-a", &json!([failed])));
    check(&mut snapshot, &waiting(), "BridgeExists", &["br-blue is not owned", "remove the bridge"]);
}

#[test]
fn node_without_an_agent() {
    let mut snapshot = cluster();
    snapshot.usnet_pods = vec![usnet_pod("agent", "node-b")];
    check(&mut snapshot, &waiting(), "NoAgent", &["node node-a has no agent"]);
}

#[test]
fn node_that_has_not_programmed_the_network_yet() {
    let mut snapshot = cluster();
    let mut state = state_object("node-a", &json!([]));
    state["status"]["programmedThrough"] = json!("10");
    add(&mut snapshot, &state);
    check(&mut snapshot, &waiting(), "NetworkPending", &["not programmed on node node-a yet"]);
    let mut node = node_object("node-a");
    node["status"]["conditions"][0]["status"] = json!("Unknown");
    add(&mut snapshot, &node);
    check(&mut snapshot, &waiting(), "NodeNotReady", &["the node is NotReady"]);
}
