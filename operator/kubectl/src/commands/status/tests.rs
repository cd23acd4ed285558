use super::report::report;
use super::text::text;
use crate::model::testing::{
    add, add_network, condition, engine_object, merge, network_object, network_report, node_object, snapshot,
    state_object, usnet_pod,
};
use crate::model::{Objects, Snapshot};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

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
fn the_controller_of_policies_is_missed_where_a_network_has_policies() {
    let row = |snapshot: &Snapshot| lines(snapshot).into_iter().find(|line| line.starts_with("Policies"));
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    assert_eq!(row(&snapshot), None, "nothing needs it");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}]]});
    let spec = json!({"port": {"antiSpoofing": "Address"}, "policies": "Enabled", "ipam": ipam});
    add_network(&mut snapshot, &network_object("red", &spec));
    assert_eq!(row(&snapshot).as_deref(), Some("Policies 0 of 0 controllers ready"));
    assert_eq!(report(&snapshot).needs_action[0].reason, "NoController");
    snapshot.usnet_pods.push(usnet_pod("policies", "node-a"));
    assert_eq!(row(&snapshot).as_deref(), Some("Policies 1 of 1 controllers ready"));
    assert!(report(&snapshot).is_ok());
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
            "agent: NoAgent on node-a",
            "the node has no agent, so its networks are not updated: kubectl get daemonset -n usnet-system usnet-agent",
            "engine VPP: Disconnected on node-b",
            "no connection to VPP",
            "network mine: BridgeExists on node-a",
            "bridge br-mine exists",
            "",
            "NOT CONNECTED",
            "POD INTERFACE NETWORK NODE MESSAGE",
            "web/dpdk-0 net1 mine node-b the program must listen",
        ]
    );
}

/// Pods have what they need, but the next cable takes it from them.
#[test]
fn a_degraded_bond_is_listed_although_its_uplink_is_ready() {
    let mut snapshot = snapshot();
    let nics = json!([{"device": {"type": "Name", "name": "eth1"}}]);
    let conditions = json!([
        condition("Ready", "True", "AllNodes", "programmed on 2 of 2 nodes"),
        condition("Degraded", "True", "BondDegraded", "on 1 node it works in part; node-a: eth2 has no link"),
    ]);
    let uplink = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": "fab", "generation": 1},
        "spec": {"engine": "OVS", "nics": nics}, "status": {"conditions": conditions},
    });
    add(&mut snapshot, &uplink);
    let lines = lines(&snapshot);
    let at = lines.iter().position(|line| line == "uplink fab: BondDegraded").unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(lines[at + 1], "on 1 node it works in part; node-a: eth2 has no link");
}

#[test]
fn a_userspace_engine_has_what_no_agent_reports() {
    let mut snapshot = snapshot();
    let mut engine = engine_object("ovs", &json!({}));
    let conditions = json!([condition("Ready", "False", "HugepagesMissing", "the engine runs on 0 of 2 nodes")]);
    let of_nodes = json!([
        {"node": "node-a", "reason": "HugepagesMissing", "message": "node-a has no hugepages of 2Mi"},
        {"node": "node-b", "reason": "EngineFails", "message": "ovsdb-server ended"},
    ]);
    merge(&mut engine, &json!({"status": {"conditions": conditions, "problems": of_nodes}}));
    add(&mut snapshot, &engine);
    let mut state = state_object("node-b", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "EngineFails", "ovsdb-server ended");
    add(&mut snapshot, &state);
    let lines = lines(&snapshot);
    let at = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(at("UserspaceEngine ovs: HugepagesMissing on node-a"), 1, "{lines:#?}");
    assert_eq!(at("engine Open vSwitch: EngineFails on node-b"), 1, "{lines:#?}");
    assert_eq!(at("UserspaceEngine ovs: EngineFails"), 0, "{lines:#?}");
    assert!(!report(&snapshot).is_ok());
}

#[test]
fn a_userspace_engine_that_is_refused_is_listed() {
    let mut snapshot = snapshot();
    let mut engine = engine_object("ovs", &json!({}));
    let conditions = json!([
        condition("Accepted", "False", "InvalidSpec", "spec.image: required for VPP"),
        condition("Ready", "False", "InvalidSpec", "spec.image: required for VPP"),
        condition("Stalled", "True", "InvalidSpec", "see Ready"),
    ]);
    merge(&mut engine, &json!({"status": {"conditions": conditions}}));
    add(&mut snapshot, &engine);
    let lines = lines(&snapshot);
    assert!(lines.iter().any(|line| line == "UserspaceEngine ovs: InvalidSpec"), "{lines:#?}");
}

/// The condition of an engine that was lost so many seconds before the time of the snapshot.
fn lost(kind: &str, seconds: i64) -> Value {
    let mut lost = condition(kind, "False", "NotActing", "its process ended: start it");
    lost["lastTransitionTime"] = json!(Timestamp::from_second(3600 - seconds).unwrap().to_string());
    lost
}

/// The cluster with networks n0 to n6 of Open vSwitch, which has ended on node-b.
fn without_switch(seconds: i64) -> Snapshot {
    let mut snapshot = snapshot();
    for number in 0..7 {
        let mut network = network_object(&format!("n{number}"), &json!({}));
        let failures = json!([{"node": "node-b", "reason": "EngineUnreachable", "message": "its process ended"}]);
        let conditions = json!([condition("Ready", "False", "EngineUnreachable", "programmed on 1 of 2 nodes")]);
        merge(&mut network, &json!({"status": {"conditions": conditions, "failures": failures}}));
        add_network(&mut snapshot, &network);
    }
    let mut state = state_object("node-b", &json!([]));
    state["status"]["conditions"][1] = lost("OVSConnected", seconds);
    let affected = |number: usize, network: &str| json!({"pod": format!("web/p{number}"), "uid": format!("u{number}"), "network": network, "engine": "OVS", "reason": "EngineUnreachable"});
    state["status"]["affectedPods"] =
        json!([affected(0, "n0"), affected(0, "n1"), affected(1, "n0"), affected(2, "n6")]);
    add(&mut snapshot, &state);
    snapshot
}

#[test]
fn an_engine_that_ended_is_one_problem_and_recovers_only_in_its_first_minute() {
    let found = report(&without_switch(59));
    assert_eq!((found.needs_action.len(), found.recovers.len()), (0, 1), "{found:?}");
    let snapshot = without_switch(60);
    let lines = lines(&snapshot);
    let start = lines.iter().position(|line| line == "NEEDS ACTION").unwrap();
    let expected = ["engine Open vSwitch: NotActing on node-b: 7 networks, 3 pods", "its process ended: start it"];
    assert_eq!(lines[start + 1..], expected);
    assert_eq!(lines[2], "Nodes 2 of 2 ready", "what the agent reports is the node's own readiness");
}

#[test]
fn a_network_that_no_node_can_have_is_one_problem() {
    let mut snapshot = many(200, &["bigover"], |_| "MtuTooLarge");
    // The status of a network has only the first failures.
    let lines = lines(&snapshot);
    assert!(
        lines.contains(&"network bigover: MtuTooLarge on 200 nodes (node-000, node-001, …)".to_owned()),
        "{lines:?}"
    );
    assert!(lines.contains(&"Nodes 200 of 200 ready".to_owned()), "{lines:?}");
    assert!(lines.contains(&"node-000: bigover is too large".to_owned()), "{lines:?}");
    snapshot.mark_unread(Objects::Compiled, "compiled networks", "you may not read them");
    let found = report(&snapshot);
    assert_eq!(found.needs_action[0].nodes.len(), 10, "only those of the status are known");
}

/// So many nodes, on which these networks fail for a reason that depends on the number of the node.
fn many(nodes: usize, networks: &[&str], reason: impl Fn(usize) -> &'static str) -> Snapshot {
    let mut snapshot = snapshot();
    for node in ["node-a", "node-b"] {
        snapshot.cache.nodes.remove(node);
        snapshot.cache.states.remove(node);
        snapshot.reports.remove(node);
    }
    snapshot.usnet_pods.retain(|pod| pod.component.as_deref() == Some("controller"));
    let message = |name: &str| format!("{name} is too large");
    for number in 0..nodes {
        let node = format!("node-{number:03}");
        let failed =
            |name: &&str| network_report(name, "Failed", &json!({"reason": reason(number), "message": message(name)}));
        add(&mut snapshot, &node_object(&node));
        add(&mut snapshot, &state_object(&node, &Value::Array(networks.iter().map(failed).collect())));
        snapshot.usnet_pods.push(usnet_pod("agent", &node));
    }
    for name in networks {
        let failure =
            |number| json!({"node": format!("node-{number:03}"), "reason": reason(number), "message": message(name)});
        let failures: Vec<_> = (0..nodes.min(10)).map(failure).collect();
        let mut network = network_object(name, &json!({}));
        let counts = json!({"selected": nodes, "programmed": 0, "failed": nodes, "unreachable": 0, "summary": ""});
        let conditions = json!([condition("Ready", "False", reason(0), "programmed on none")]);
        merge(&mut network, &json!({"status": {"conditions": conditions, "failures": failures, "nodes": counts}}));
        add_network(&mut snapshot, &network);
    }
    snapshot
}

/// The reasons of failures, each on every fourth node.
const REASONS: [&str; 4] = ["EngineRefused", "BridgeExists", "EngineUnsuitable", "Waiting"];

#[test]
fn with_200_nodes_and_100_networks_the_report_fits_on_a_screen() {
    let names: Vec<String> = (0..100).map(|number| format!("n{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut snapshot = many(200, &names, |number| REASONS[number % REASONS.len()]);
    let unconnected = |number: usize| json!({"pod": format!("web/p{number}"), "uid": "u", "interface": "net1", "reason": "NotConnected", "message": "it has to listen"});
    for number in 0..200 {
        let node = format!("node-{number:03}");
        let degraded = json!([unconnected(number), unconnected(1000 + number)]);
        let reports = names.iter().take(20).map(|name| {
            network_report(
                name,
                "Failed",
                &json!({"reason": REASONS[number % 4], "message": "no", "attachments": 2, "degraded": degraded}),
            )
        });
        let others = names
            .iter()
            .skip(20)
            .map(|name| network_report(name, "Failed", &json!({"reason": REASONS[number % 4], "message": "no"})));
        let mut state = state_object(&node, &Value::Array(reports.chain(others).collect()));
        if number % 10 == 0 {
            state["status"]["conditions"][2] = lost("VPPConnected", 600);
        }
        add(&mut snapshot, &state);
    }
    let lines = lines(&snapshot);
    assert!(lines.len() <= 40, "{} lines:\n{}", lines.len(), lines.join("\n"));
    for expected in [
        "engine VPP: NotActing on 20 nodes (node-000, node-010, …)",
        "engine Open vSwitch: EngineUnsuitable on 50 nodes (node-002, node-006, …): 100 networks",
        "100 networks (n00, n01, n02, …): BridgeExists on 50 nodes (node-001, node-005, …)",
        "100 networks (n00, n01, n02, …): EngineRefused on 50 nodes (node-000, node-004, …)",
        "web/p0 and 399 more net1 n00 200 nodes it has to listen",
        "and 10 more: use -o json",
    ] {
        assert!(lines.iter().any(|line| line == expected), "no {expected:?} in\n{}", lines.join("\n"));
    }
    let found = report(&snapshot);
    assert_eq!(found.not_connected.len(), 200 * 20 * 2, "JSON has all");
}

#[test]
fn what_explains_others_is_one_problem_with_their_number() {
    let mut snapshot = many(2, &["n0", "n1", "n2", "n3"], |_| "StateNotWritable");
    let mut state = state_object("node-001", &json!([]));
    state["status"]["conditions"][0] = condition("Ready", "False", "StateNotWritable", "no space left");
    add(&mut snapshot, &state);
    let found = report(&snapshot);
    let headlines: Vec<String> = found.needs_action.iter().map(super::problems::Problem::headline).collect();
    assert_eq!(
        headlines,
        [
            "agent: StateNotWritable on node-001: 4 networks",
            // Its agent no longer reports it.
            "4 networks (n0, n1, n2, …): StateNotWritable on node-000",
        ]
    );
    assert_eq!(found.nodes.ready, 1);
}

#[test]
fn an_engine_without_memory_for_the_ports_of_a_pod_needs_action_and_the_pod_does_not() {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    let entry = |interface: &str| json!({"pod": "web/ten", "uid": "u", "interface": interface, "reason": "NoMemory", "message": "Open vSwitch has no DPDK memory"});
    let degraded = json!([entry("net1"), entry("net2")]);
    let report_of = network_report("blue", "Programmed", &json!({"attachments": 2, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-b", &json!([report_of])));
    let lines = lines(&snapshot);
    let start = lines.iter().position(|line| line == "NEEDS ACTION").unwrap();
    assert_eq!(lines[start + 1], "engine Open vSwitch: NoMemory on node-b: 1 network, 1 pod");
    assert!(lines[start + 2].contains("dpdk-socket-mem") && lines.len() == start + 3, "{lines:?}");
    assert_eq!(report(&snapshot).not_connected.len(), 2);
}

#[test]
fn work_in_progress_recovers_for_some_minutes_and_then_needs_action() {
    let with = |seconds: i64| {
        let mut ready = condition("Ready", "False", "Pending", "waiting for 1 node");
        ready["lastTransitionTime"] = json!(Timestamp::from_second(3600 - seconds).unwrap().to_string());
        let mut network = network_object("blue", &json!({}));
        merge(&mut network, &json!({"status": {"conditions": [ready]}}));
        let mut snapshot = snapshot();
        add_network(&mut snapshot, &network);
        let found = report(&snapshot);
        (found.needs_action.len(), found.recovers.len())
    };
    assert_eq!([299, 300].map(with), [(0, 1), (1, 0)]);
}

#[test]
fn metrics_that_are_not_served_and_files_need_action_and_nothing_else_is_wrong() {
    let mut snapshot = snapshot();
    let mut state = state_object("node-b", &json!([]));
    let unserved = condition("MetricsServed", "False", "AddressTaken", "cannot listen at 127.0.0.1:28181");
    let invalid = condition("ConfigurationsAccepted", "False", "ConfigurationInvalid", "file 90-userspace.conf");
    state["status"]["conditions"].as_array_mut().unwrap().extend([unserved, invalid]);
    add(&mut snapshot, &state);
    let found = report(&snapshot);
    let mut action: Vec<_> = found.needs_action.iter().map(|it| (it.subject.as_str(), it.reason.as_str())).collect();
    action.sort_unstable();
    let expected = vec![("CNI configurations", "ConfigurationInvalid"), ("metrics", "AddressTaken")];
    assert_eq!((action, found.recovers.len()), (expected, 0));
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
