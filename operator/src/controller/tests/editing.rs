//! How node states are changed: only what differs, only if nobody else was there, and not twice.

use super::super::diff::{Edit, Write};
use super::super::inputs::NodeState;
use super::model::Cluster;
use serde_json::json;

/// A settled cluster in which `cyan` has got another MTU.
fn changed() -> Cluster {
    let mut cluster = Cluster::new();
    for name in ["amber", "blue", "cyan"] {
        cluster.simple_network(name);
    }
    cluster.settle();
    cluster.network("cyan", &json!({"engine": "OVS", "bridge": {"mtu": 9000}, "namespaceSelector": {}}));
    cluster
}

fn is_about(write: &Write, name: &str) -> bool {
    matches!(write, Write::EditNodeState { node, .. } | Write::NodeState { node, .. } if node == name)
}

#[test]
fn a_changed_network_is_the_only_one_that_is_sent() {
    let mut cluster = changed();
    let writes = cluster.look();
    let edits: Vec<_> = writes
        .iter()
        .filter_map(|write| match write {
            Write::EditNodeState { node, edits, .. } => Some((node.as_str(), edits.as_slice())),
            Write::NodeState { node, .. } => panic!("{node} is written whole"),
            _ => None,
        })
        .collect();
    assert_eq!(edits.iter().map(|(node, _)| *node).collect::<Vec<_>>(), ["node-a", "node-b"]);
    for (_, edits) in edits {
        assert!(matches!(edits, [Edit::Replace(2, network)] if network.name.as_str() == "cyan"), "{edits:?}");
    }
}

#[test]
fn networks_that_come_and_go_are_put_where_they_belong() {
    let mut cluster = changed();
    cluster.settle();
    cluster.delete_network("amber");
    cluster.simple_network("azure");
    cluster.simple_network("aqua");
    // The model checks indexes, order and the result.
    cluster.settle();
    let names: Vec<_> = cluster.held("node-a").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["aqua", "azure", "blue", "cyan"]);
}

#[test]
fn a_node_state_is_left_alone_until_our_last_write_is_seen() {
    let mut cluster = changed();
    assert!(cluster.look().iter().any(|write| is_about(write, "node-a")));
    let state = cluster.inputs.states["node-a"].clone();
    cluster.ledger.wrote(&cluster.inputs, "node-a", &state.uid, state.generation + 1);
    let next = cluster.look();
    assert!(!next.iter().any(|write| is_about(write, "node-a")), "{next:?}");
    assert!(next.iter().any(|write| is_about(write, "node-b")), "what was not written is tried again: {next:?}");

    // What is seen next is somebody else's, who took the change back.
    cluster.inputs.states.insert("node-a".to_owned(), NodeState { generation: state.generation + 2, ..state });
    assert!(cluster.look().iter().any(|write| is_about(write, "node-a")));
}

#[test]
fn a_node_state_that_is_not_as_it_was_seen_is_written_whole() {
    let mut cluster = changed();
    cluster.look();
    cluster.ledger.is_stale("node-a");
    let next = cluster.look();
    let whole = next.iter().find(|write| is_about(write, "node-a"));
    assert!(matches!(whole, Some(Write::NodeState { networks, .. }) if networks.len() == 3), "{next:?}");
}

#[test]
fn a_node_state_that_the_api_server_does_not_take_is_told_with_its_networks() {
    let mut cluster = changed();
    cluster.look();
    cluster.ledger.is_refused("node-b", "request is too large");
    let told = |writes: &[Write]| {
        writes.iter().find_map(|write| match write {
            Write::Status { network, status, .. } if network == "cyan" => Some(status.failures.clone()),
            _ => None,
        })
    };
    let failures = told(&cluster.look()).unwrap();
    let failures: Vec<_> =
        failures.iter().map(|it| (it.node.as_str(), it.reason.as_str(), it.message.as_str())).collect();
    assert_eq!(failures, [("node-b", "NodeStateRefused", "request is too large")]);

    let state = cluster.inputs.states["node-b"].clone();
    cluster.ledger.wrote(&cluster.inputs, "node-b", &state.uid, state.generation + 1);
    assert_eq!(told(&cluster.look()).unwrap(), []);
}
