//! The status of networks.

use super::super::write::Write;
use super::model::Cluster;
use serde_json::json;
use usnet_crds::conditions::find;

#[test]
fn a_network_on_all_nodes_is_ready() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.attach("node-a", "blue", 3);
    cluster.settle();
    let status = cluster.status("blue");
    assert_eq!((status.nodes.summary.as_str(), status.attachments, status.observed_generation), ("2/2", 3, Some(1)));
    assert_eq!(status.connected, 2);
    let types: Vec<&str> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(types, ["Ready", "Accepted", "DefinitionsReady", "Programmed"]);
    assert!(
        status
            .conditions
            .iter()
            .all(|condition| condition.status == "True" && condition.observed_generation == Some(1))
    );
}

#[test]
fn attached_and_connected_interfaces_are_counted_on_all_nodes_and_engines() {
    let mut cluster = Cluster::new();
    cluster.simple_vpp_network("blue");
    cluster.simple_network("red");
    cluster.attach("node-a", "blue", 3);
    cluster.attach("node-b", "blue", 5);
    cluster.attach("node-b", "red", 1);
    cluster.settle();
    let counts = |network: &str| (cluster.status(network).attachments, cluster.status(network).connected);
    assert_eq!((counts("blue"), counts("red")), ((8, 6), (1, 0)));
}

#[test]
fn unready_nodes_do_not_block_ready() {
    let mut cluster = Cluster::new();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.node("node-b", false);
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert_eq!(cluster.message("blue", "Ready"), "programmed on 1 of 2 nodes; 1 NotReady");
    assert_eq!(cluster.status("blue").nodes.unreachable, 1);
    cluster.node("node-b", true);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False Pending");
    assert_eq!(cluster.condition("blue", "Reconciling"), "True Pending");
}

#[test]
fn the_namespaces_of_a_network_and_the_label_that_the_others_lack_are_named() {
    let mut cluster = Cluster::new();
    cluster.namespace("third", &[("team", "a")]);
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(
        cluster.message("blue", "DefinitionsReady"),
        "2 of 2 namespaces have the definition: team-a, third; a namespace gets it by labels that namespaceSelector requires: team=a"
    );
    for number in 0..20 {
        cluster.namespace(&format!("more-{number}"), &[("team", "a")]);
    }
    cluster.settle();
    let message = cluster.message("blue", "DefinitionsReady");
    assert!(message.contains("more-17 and others; a namespace gets it"), "{message}");

    cluster.network("open", &json!({"engine": "OVS", "namespaceSelector": {}}));
    cluster.settle();
    let message = cluster.message("open", "DefinitionsReady");
    assert!(message.ends_with("namespaces have the definition"), "{message}");
}

#[test]
fn addresses_that_several_nodes_assign_are_warned_of() {
    let mut cluster = Cluster::new();
    let with = |ipam: &str, nodes: serde_json::Value| {
        json!({
            "engine": "OVS", "namespaceSelector": {}, "nodeSelector": nodes,
            "ipam": {"type": ipam, "ranges": [[{"subnet": "10.0.0.0/24"}]]},
        })
    };
    let one_node = json!({"matchLabels": {"host": "node-a"}});
    cluster.network("twice", &with("host-local", json!({})));
    cluster.network("once", &with("host-local", one_node));
    cluster.network("pool", &with("whereabouts", json!({})));
    cluster.settle();
    let is_warned = |name: &str| cluster.message(name, "Accepted").contains("pods of two nodes get the same address");
    assert_eq!(["twice", "once", "pool"].map(is_warned), [true, false, false]);
    assert_eq!(cluster.condition("twice", "Ready"), "True AllNodes");
}

#[test]
fn a_selector_that_matches_no_node_does_not_wait_indefinitely() {
    let mut cluster = Cluster::new();
    let nowhere = json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {"matchLabels": {"host": "none"}}});
    cluster.network("blue", &nowhere);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True NoMatchingNodes");
}

#[test]
fn the_first_node_that_fails_is_named() {
    let mut cluster = Cluster::new();
    for node in ["node-a", "node-b"] {
        cluster.failures.insert((node.to_owned(), "blue".to_owned()), "BridgeExists");
    }
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False BridgeExists");
    assert!(cluster.message("blue", "Ready").contains("node node-a: BridgeExists"));
    // `kubectl describe` would show one sentence five times.
    for dependent in ["Programmed", "Stalled"] {
        assert_eq!(cluster.message("blue", dependent), "see Ready");
    }
    assert_eq!(cluster.condition("blue", "Stalled"), "True BridgeExists");
    let nodes: Vec<String> = cluster.status("blue").failures.into_iter().map(|failure| failure.node).collect();
    assert_eq!(nodes, ["node-a", "node-b"]);
}

#[test]
fn at_most_ten_failures_are_listed() {
    let mut cluster = Cluster::new();
    for index in 10..25 {
        let node = format!("node-{index}");
        cluster.node(&node, true);
        cluster.failures.insert((node, "blue".to_owned()), "EngineRefused");
    }
    cluster.simple_network("blue");
    cluster.settle();
    let status = cluster.status("blue");
    assert_eq!((status.failures.len(), status.nodes.failed), (10, 15));
    assert_eq!(cluster.condition("blue", "Stalled"), "");
}

#[test]
fn an_old_report_does_not_count_for_a_new_spec() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 9000}}));
    cluster.pass();
    assert_eq!(cluster.condition("blue", "Programmed"), "False Pending");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
}

#[test]
fn without_multus_the_reason_is_reported_and_nodes_are_programmed() {
    let mut cluster = Cluster::new();
    cluster.set_nads_unavailable();
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False Unavailable");
    assert_eq!(cluster.status("blue").nodes.summary, "2/2");
}

#[test]
fn only_the_status_that_changed_is_written_and_transition_times_stay() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.simple_network("red");
    cluster.settle();
    let since = find(&cluster.status("blue").conditions, "Ready").unwrap().last_transition_time.clone();
    cluster.attach("node-a", "blue", 1);
    cluster.report();
    let writes = cluster.pass();
    assert!(matches!(&writes[..], [Write::Status { network, .. }] if network == "blue"), "{writes:?}");
    assert_eq!(find(&cluster.status("blue").conditions, "Ready").unwrap().last_transition_time, since);
    assert!(cluster.pass().is_empty());
}
