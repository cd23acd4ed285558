use super::report::report;
use super::text::text;
use crate::model::testing::{
    add, add_network, condition, merge, network_object, network_report, snapshot, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::json;

fn lines(snapshot: &Snapshot) -> Vec<String> {
    let text = text(&report(snapshot));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_cluster_without_a_problem_is_a_few_lines() {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    assert!(report(&snapshot).is_ok());
    assert_eq!(
        lines(&snapshot),
        [
            "Controllers 2 of 2 ready, leader usnet-controller-node-a",
            "Agents 2 of 2 ready",
            "Nodes 2 of 2 ready",
            "Engines Open vSwitch 3.1.0 on 2 nodes; VPP 26.06 on 2 nodes",
            "Networks 1: 1 ready, 0 in progress, 0 stalled",
            "Interfaces 0, 0 with a connected program",
            "",
            "Nothing is wrong.",
        ]
    );
}

#[test]
fn problems_are_listed_by_what_they_need() {
    let mut snapshot = snapshot();
    let mut mine = network_object("mine", &json!({}));
    let failures = json!([{"node": "node-a", "reason": "BridgeExists", "message": "bridge br-mine exists"}]);
    let conditions = json!([
        condition("Ready", "False", "BridgeExists", "programmed on 1 of 2 nodes"),
        condition("Stalled", "True", "BridgeExists", "see Ready"),
    ]);
    merge(
        &mut mine,
        &json!({"status": {"conditions": conditions, "failures": failures, "attachments": 2, "connected": 1}}),
    );
    add_network(&mut snapshot, &mine);
    let degraded = json!([{"pod": "web/dpdk-0", "uid": "u", "interface": "net1", "reason": "NotConnected", "message": "the program must listen"}]);
    let mut state = state_object(
        "node-b",
        &json!([network_report(
            "mine",
            "Programmed",
            &json!({"attachments": 2, "connected": 1, "degraded": degraded})
        )]),
    );
    state["status"]["conditions"][2] = condition("VPPConnected", "False", "Disconnected", "no connection to VPP");
    state["status"]["engines"] = json!([{"engine": "OVS", "version": "3.1.0", "epoch": 1}]);
    add(&mut snapshot, &state);
    snapshot.usnet_pods.retain(|pod| pod.name != "usnet-agent-node-a");
    assert_eq!(
        lines(&snapshot)[1..],
        [
            "Agents 1 of 1 ready",
            "Nodes 2 of 2 ready",
            "Engines Open vSwitch 3.1.0 on 2 nodes; VPP 26.06 on 1 node, VPP lost on node-b",
            "Networks 1: 0 ready, 0 in progress, 1 stalled",
            "Interfaces 2, 1 with a connected program",
            "",
            "NEEDS ACTION",
            "SUBJECT NODE REASON MESSAGE",
            "agent node-a NoAgent the node has no agent, so its networks are not updated: kubectl get daemonset -n usnet-system usnet-agent",
            "network mine node-a BridgeExists bridge br-mine exists",
            "",
            "RECOVERS WITHOUT ACTION",
            "SUBJECT NODE REASON MESSAGE",
            "engine VPP node-b Disconnected no connection to VPP",
            "",
            "NOT CONNECTED",
            "POD INTERFACE NETWORK NODE MESSAGE",
            "web/dpdk-0 net1 mine node-b the program must listen",
        ]
    );
}

#[test]
fn metrics_that_are_not_served_need_action_and_nothing_else_is_wrong() {
    let mut snapshot = snapshot();
    let mut state = state_object("node-b", &json!([]));
    let unserved = condition("MetricsServed", "False", "AddressTaken", "cannot listen at 127.0.0.1:28181");
    state["status"]["conditions"].as_array_mut().unwrap().push(unserved);
    add(&mut snapshot, &state);
    let found = report(&snapshot);
    let action: Vec<_> = found.needs_action.iter().map(|it| (it.subject.as_str(), it.reason.as_str())).collect();
    assert_eq!((action, found.recovers.len()), (vec![("metrics", "AddressTaken")], 0));
}

#[test]
fn without_a_right_the_rest_is_reported_and_what_is_missing_is_named() {
    let mut snapshot = snapshot();
    snapshot.usnet_pods.clear();
    snapshot.mark_unread(Objects::UsnetPods, "pods in usnet-system", "you may not read pods");
    let report = report(&snapshot);
    assert!(report.is_ok(), "missing pods are not missing agents: {report:?}");
    let text = text(&report);
    assert!(text.contains("NOT READ") && text.contains("pods in usnet-system: you may not read pods"), "{text}");
}

#[test]
fn a_cluster_without_a_controller_needs_action() {
    let mut snapshot = snapshot();
    snapshot.usnet_pods.retain(|pod| pod.component.as_deref() != Some("controller"));
    let found = report(&snapshot);
    assert_eq!(found.needs_action.iter().map(|problem| problem.reason.as_str()).collect::<Vec<_>>(), ["NoController"]);
}
