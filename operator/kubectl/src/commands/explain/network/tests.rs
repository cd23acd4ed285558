//! Each test has a state of the cluster with one problem, and the cause that is found.

use super::report;
use crate::commands::explain::text::text;
use crate::model::testing::{
    add, add_network, condition, merge, network_object, network_report, node_object, snapshot, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};

fn cluster() -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    snapshot
}

/// Network blue with these conditions, which replace those at their indices.
fn with(conditions: &[(usize, Value)], metadata: &Value) -> Snapshot {
    let mut network = network_object("blue", &json!({}));
    for (index, condition) in conditions {
        match network["status"]["conditions"].get_mut(*index) {
            Some(place) => *place = condition.clone(),
            None => network["status"]["conditions"].as_array_mut().unwrap().push(condition.clone()),
        }
    }
    merge(&mut network["metadata"], metadata);
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network);
    snapshot
}

/// The causes with which the network itself works.
const WARNINGS: &[&str] = &["ProgramsNotConnected", "DefinitionRefused", "NameConflict", "Unavailable"];

#[track_caller]
fn check(snapshot: &Snapshot, cause: &str, words: &[&str]) {
    let report = report(snapshot, "blue");
    let causes: Vec<_> = report.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, [cause], "{}", text(&report));
    assert_eq!(report.is_ok(), WARNINGS.contains(&cause), "{}", text(&report));
    for word in words {
        assert!(text(&report).contains(word), "no {word:?} in\n{}", text(&report));
    }
}

#[test]
fn a_ready_network_has_no_cause() {
    let report = report(&cluster(), "blue");
    assert_eq!(report.findings, []);
    assert_eq!(report.parts.rows.len(), 2);
    assert_eq!(report.parts.rows[0], ["node-a", "Programmed", "0", "0", ""].map(str::to_owned));
    assert!(report.state.starts_with("Ready=True (AllNodes)"), "{}", report.state);
}

#[test]
fn a_change_that_no_controller_reads() {
    let mut snapshot = with(&[], &json!({"generation": 2}));
    check(&snapshot, "NotObserved", &["has not read the last change yet"]);
    snapshot.leader = None;
    check(&snapshot, "NotObserved", &["no controller is the leader"]);
    snapshot.usnet_pods.retain(|pod| pod.component.as_deref() == Some("agent"));
    check(&snapshot, "NotObserved", &["no controller is ready", "kubectl logs"]);
}

#[test]
fn rejected_specs() {
    for (reason, message, remedy) in [
        ("Invalid", "spec.bridge.mtu is 1", "correct the field"),
        ("BridgeConflict", "network red has bridge br-x", "another bridge"),
        ("VniTaken", "VNI 7 belongs to network red", "leave spec.topology.overlay.vni out"),
        ("AddressesNotUnique", "host-local counts on each node", "nodePrefix"),
        ("UplinkMissing", "there is no uplink fab", "create the UserspaceUplink"),
        ("VlanTaken", "VLAN 7 belongs to network red", "another VLAN"),
    ] {
        check(&with(&[(1, condition("Accepted", "False", reason, message))], &json!({})), reason, &[message, remedy]);
    }
}

#[test]
fn definitions_that_cannot_be_created() {
    let conflict = condition("DefinitionsReady", "False", "NameConflict", "db/blue is not owned by usnet");
    check(&with(&[(2, conflict)], &json!({})), "NameConflict", &["db/blue", "rename or delete"]);
    let refused = condition("DefinitionsReady", "False", "DefinitionRefused", "namespace db refuses: exceeded quota");
    check(&with(&[(2, refused)], &json!({})), "DefinitionRefused", &["namespace db refuses", "raise the quota"]);
    let unavailable = condition("DefinitionsReady", "False", "Unavailable", "cannot be read");
    check(&with(&[(2, unavailable)], &json!({})), "Unavailable", &["install Multus"]);
}

#[test]
fn selectors_that_match_nothing() {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({"namespaceSelector": {"matchLabels": {"team": "z"}}})));
    check(&snapshot, "NoNamespaceSelected", &["(team=z) matches no namespace"]);
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"nodeSelector": {"matchLabels": {"rack": "z"}}})));
    check(&snapshot, "NoNodeSelected", &["(rack=z) matches no node"]);
}

#[test]
fn engine_that_no_node_has() {
    let mut snapshot = cluster();
    for node in ["node-a", "node-b"] {
        let mut state = state_object(node, &json!([]));
        state["status"]["conditions"][1] = condition("OVSConnected", "False", "NeverSeen", "no socket");
        add(&mut snapshot, &state);
    }
    check(&snapshot, "EngineNowhere", &["all nodes with Open vSwitch, but no node has this engine"]);
}

#[test]
fn nodes_that_fail_are_grouped_by_their_reason() {
    let mut snapshot = cluster();
    let failed = network_report("blue", "Failed", &json!({"reason": "BridgeExists", "message": "bridge br-blue"}));
    for node in ["node-a", "node-b"] {
        add(&mut snapshot, &state_object(node, &json!([failed])));
    }
    check(&snapshot, "BridgeExists", &["of 2 nodes: node-a, node-b", "remove the bridge"]);
    let mut state = state_object("node-b", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "Disconnected", "connection refused");
    add(&mut snapshot, &state);
    let causes: Vec<_> = report(&snapshot, "blue").findings.into_iter().map(|finding| finding.cause).collect();
    assert_eq!(causes, ["BridgeExists", "EngineUnreachable"]);
}

#[test]
fn nodes_that_are_not_ready() {
    let mut snapshot = cluster();
    let mut node = node_object("node-b");
    node["status"]["conditions"][0]["status"] = json!("Unknown");
    add(&mut snapshot, &node);
    check(&snapshot, "NodesNotReady", &["1 node as NotReady", "kubectl get nodes"]);
    snapshot.unread_objects.insert(Objects::Nodes);
    assert_eq!(report(&snapshot, "blue").findings, [], "it is not known");
}

#[test]
fn pending_nodes_without_a_ready_agent() {
    let mut snapshot = cluster();
    let mut state = state_object("node-b", &json!([]));
    state["status"]["programmedThrough"] = json!("10");
    add(&mut snapshot, &state);
    assert_eq!(report(&snapshot, "blue").findings, [], "it may take a moment");
    for pod in snapshot.usnet_pods.iter_mut().filter(|pod| pod.name == "usnet-agent-node-b") {
        pod.is_ready = false;
    }
    check(&snapshot, "NoAgent", &["of node-b", "cannot apply the last change"]);
}

#[test]
fn a_compiled_network_that_the_api_server_refuses() {
    let refused = condition("Programmed", "False", "CompiledNetworkRefused", "too large");
    check(&with(&[(3, refused)], &json!({})), "CompiledNetworkRefused", &["too large", "shorten"]);
}

#[test]
fn deletions_that_wait() {
    let deleted = json!({"deletionTimestamp": "1970-01-01T00:40:00Z"});
    for (reason, remedy) in
        [("InUse", "delete the pods"), ("ForeignPorts", "remove the ports"), ("RecordUnreadable", "the agent's log")]
    {
        let blocked = condition("DeletionBlocked", "True", reason, "because");
        check(&with(&[(4, blocked)], &deleted), reason, &["because", remedy]);
    }
    let blocked = condition("DeletionBlocked", "True", "InUse", "because");
    let forced = json!({"deletionTimestamp": "1970-01-01T00:40:00Z", "annotations": {"usnet.dev/force-delete": "yes"}});
    check(&with(&[(4, blocked)], &forced), "ForceDeleteIgnored", &["usnet.dev/force-delete=blue"]);
}

#[test]
fn programs_that_are_not_connected() {
    let mut snapshot = cluster();
    let degraded = json!([{"pod": "web/app", "uid": "u", "interface": "net1", "reason": "NotConnected", "message": "it has to listen"}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    check(&snapshot, "ProgramsNotConnected", &["of web/app net1", "it has to listen"]);
}
