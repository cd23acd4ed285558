//! A network is deleted only after the last pod that uses it.

use super::super::write::{FinalizerChange, Target, Write};
use super::model::{Cluster, key};
use serde_json::json;
use usnet_crds::Phase::{Active, Draining};
use usnet_crds::conditions::reason::{FOREIGN_PORTS, RECORD_UNREADABLE};

fn deleted_in_use(attachments: i64) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.attach("node-b", "blue", attachments);
    cluster.report();
    cluster.delete_network("blue");
    cluster.settle();
    cluster
}

#[test]
fn a_network_in_use_stays_on_nodes_with_pods_and_names_them() {
    let cluster = deleted_in_use(2);
    assert_eq!(cluster.networks_on("node-a"), []);
    assert_eq!(cluster.networks_on("node-b"), [("blue".to_owned(), Draining)]);
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    assert_eq!(
        cluster.message("blue", "DeletionBlocked"),
        "2 interfaces of pods on 1 node still use it: team-a/node-b-0, team-a/node-b-1; delete these pods"
    );
    assert_eq!(cluster.condition("blue", "Ready"), "False Terminating");
    assert_eq!(cluster.generated("blue"), ["team-a"]);
}

#[test]
fn one_whose_deletion_is_older_than_usnet_does_not_wait_for_pods() {
    let mut cluster = deleted_in_use(2);
    let deleted = cluster.cache.networks["blue"].deleted.clone();
    cluster.install_at(deleted);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse", "it was installed by then");
    cluster.seconds += 1;
    cluster.install_at(Some(cluster.time()));
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.nads.is_empty());
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-b"), [("blue".to_owned(), Active)], "it is there again, with its pods");
}

#[test]
fn at_most_ten_pods_are_named() {
    let message = deleted_in_use(12).message("blue", "DeletionBlocked");
    assert_eq!(message.matches("team-a/").count(), 10);
    assert!(message.starts_with("12 interfaces") && message.contains(" and others;"), "{message}");
}

#[test]
fn a_network_is_deleted_after_its_last_pod() {
    let mut cluster = deleted_in_use(2);
    cluster.attach("node-b", "blue", 0);
    cluster.report();
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.nads.is_empty());
    assert!(cluster.networks_on("node-a").is_empty() && cluster.networks_on("node-b").is_empty());
}

#[test]
fn a_node_state_that_lost_its_owner_still_blocks_the_deletion_while_its_node_is_not_ready() {
    let mut cluster = deleted_in_use(1);
    cluster.cache.states.get_mut("node-b").unwrap().owner = None;
    cluster.node("node-b", false);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
}

#[test]
fn a_network_does_not_wait_for_a_terminating_namespace() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.cache.namespaces.get_mut("team-a").unwrap().is_deleting = true;
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["team-a"], "it is deleted with its namespace");
    cluster.delete_network("blue");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.nads.is_empty());
}

/// A namespace can end with NADs still in it. These cannot be deleted then.
#[test]
fn a_network_does_not_wait_for_nads_without_a_namespace() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let namespace = cluster.cache.namespaces.remove("team-a").unwrap();
    cluster.delete_network("blue");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
    assert_eq!(cluster.generated("blue"), ["team-a"], "it is not tried in vain");
    cluster.cache.namespaces.insert("team-a".to_owned(), namespace);
    cluster.settle();
    assert!(cluster.nads.is_empty(), "it is deleted once its namespace exists");
}

#[test]
fn nodes_come_first_then_nads_then_the_finalizer_and_the_compiled_network_last() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.delete_network("blue");
    let mut order = Vec::new();
    for _ in 0..6 {
        let writes = cluster.pass().into_iter().filter(|write| !matches!(write, Write::Status { .. }));
        order.extend(writes.map(|write| write.to_string()));
        cluster.report();
    }
    let expected = [
        "drain CompiledNetwork blue",
        "delete NetworkAttachmentDefinition team-a/blue",
        "remove the finalizer of UserspaceNetwork blue",
        "delete CompiledNetwork blue",
    ];
    assert_eq!(order, expected);
}

/// Two watches: one shows that the garbage collector deleted the compiled network, the other does
/// not show the network deleted yet.
#[test]
fn a_compiled_network_is_not_created_again_while_the_finalizer_is_removed() {
    let mut cluster = deleted_in_use(1);
    cluster.cache.compiled.remove("blue");
    let is_created = |writes: Vec<Write>| writes.iter().any(|write| matches!(write, Write::Compiled { .. }));
    let finalizer = Target::Finalizer("blue".to_owned());
    cluster.guards.send(finalizer.clone());
    assert!(!is_created(cluster.evaluate_changes()));
    drop(std::mem::take(&mut cluster.guards));
    cluster.mark(finalizer);
    assert!(is_created(cluster.evaluate_changes()), "it was deleted manually, and pods use it");
    cluster.edit("blue", |network| network.finalizer = None);
    assert!(!is_created(cluster.evaluate_changes()), "another finalizer holds the network");
}

#[test]
fn a_bridge_that_a_node_cannot_remove_blocks_deletion_until_it_can() {
    for reason in [FOREIGN_PORTS, RECORD_UNREADABLE] {
        let mut cluster = deleted_in_use(1);
        let place = ("node-b".to_owned(), "blue".to_owned());
        cluster.kept_bridges.insert(place.clone(), reason);
        cluster.attach("node-b", "blue", 0);
        cluster.settle();
        assert_eq!(cluster.condition("blue", "DeletionBlocked"), format!("True {reason}"));
        let message = cluster.message("blue", "DeletionBlocked");
        assert_eq!(message, "1 node cannot remove the bridge, first node-b: port guest0");
        cluster.kept_bridges.remove(&place);
        cluster.settle();
        assert!(cluster.cache.networks.is_empty());
    }
}

#[test]
fn a_silent_node_blocks_deletion_and_a_deleted_node_does_not() {
    let mut cluster = deleted_in_use(1);
    cluster.attach("node-b", "blue", 0);
    cluster.without_agent.insert("node-b".to_owned());
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    cluster.cache.nodes.remove("node-b");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

/// As when node states, or their CRD, are deleted.
#[test]
fn a_network_in_use_stays_while_node_states_are_lost() {
    let mut cluster = deleted_in_use(2);
    cluster.cache.states.clear();
    let nodes = ["node-a", "node-b"].map(str::to_owned);
    cluster.without_agent.extend(nodes);
    cluster.settle();
    assert_eq!(cluster.message("blue", "Reconciling"), "waiting for 2 nodes to remove the network, first node-a");
    assert_eq!(cluster.generated("blue"), ["team-a"]);

    cluster.without_agent.clear();
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    cluster.attach("node-b", "blue", 0);
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.nads.is_empty());
}

/// As when usnet was removed, its CRDs with it, and is installed again. Agents report later than
/// NADs are deleted.
#[test]
fn a_network_in_use_stays_while_node_states_and_compiled_networks_are_lost() {
    let mut cluster = deleted_in_use(2);
    cluster.cache.states.clear();
    cluster.cache.compiled.remove("blue");
    cluster.compiled.remove("blue");
    cluster.remove_nad(&key("team-a", "blue"));
    let nodes = ["node-a", "node-b"].map(str::to_owned);
    cluster.without_agent.extend(nodes);
    let first: Vec<String> = cluster.pass().iter().map(ToString::to_string).collect();
    assert!(!first.iter().any(|write| write.contains("finalizer")), "{first:?}");
    cluster.settle();
    assert_eq!(cluster.message("blue", "Reconciling"), "waiting for 2 nodes to remove the network, first node-a");

    cluster.without_agent.clear();
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    cluster.attach("node-b", "blue", 0);
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.compiled.is_empty());
}

/// Its spec cannot be compiled, so that no compiled network tells which nodes it selected.
#[test]
fn an_invalid_network_stays_while_node_states_and_compiled_networks_are_lost() {
    let mut cluster = deleted_in_use(2);
    cluster.network("blue", &json!({"engine": "?"}));
    cluster.delete_network("blue");
    cluster.cache.states.clear();
    cluster.cache.compiled.remove("blue");
    cluster.compiled.remove("blue");
    let nodes = ["node-a", "node-b"].map(str::to_owned);
    cluster.without_agent.extend(nodes);
    cluster.settle();
    assert_eq!(cluster.message("blue", "Reconciling"), "waiting for 2 nodes to remove the network, first node-a");
    cluster.attach("node-b", "blue", 0);
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

/// None of these has an agent that could report that it does not carry the network.
#[test]
fn nodes_without_the_network_or_without_an_agent_do_not_block_deletion() {
    let spec = json!({
        "engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}},
        "nodeSelector": {"matchExpressions": [{"key": "host", "operator": "NotIn", "values": ["excluded"]}]},
    });
    let mut cluster = Cluster::new();
    cluster.node("excluded", true);
    cluster.node("not-ready", false);
    cluster.without_agent.extend(["excluded", "not-ready", "joined-later"].map(str::to_owned));
    cluster.network("blue", &spec);
    cluster.settle();
    cluster.attach("node-b", "blue", 1);
    cluster.delete_network("blue");
    cluster.cache.states.clear();
    cluster.node("joined-later", true);
    cluster.settle();
    assert_eq!(cluster.status("blue").nodes.summary, "1/1", "node-b");
    cluster.attach("node-b", "blue", 0);
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

#[test]
fn a_node_that_never_had_an_agent_does_not_block_deletion() {
    let mut cluster = Cluster::new();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False Pending");
    cluster.delete_network("blue");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

#[test]
fn an_invalid_network_can_be_deleted() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.network("blue", &json!({"engine": "?"}));
    cluster.settle();
    cluster.delete_network("blue");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.networks_on("node-a").is_empty());
}

#[test]
fn a_report_of_an_earlier_version_does_not_count() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.message("blue", "Reconciling"), "waiting for 1 node to remove the network, first node-b");
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

/// The node is no longer selected after a change of its labels, but its agent has not observed it
/// yet: pods may still attach.
#[test]
fn a_node_that_has_not_observed_its_labels_blocks_deletion() {
    let mut cluster = Cluster::new();
    let only = json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {"matchLabels": {"host": "node-a"}}});
    cluster.network("blue", &only);
    cluster.settle();
    cluster.without_agent.insert("node-a".to_owned());
    cluster.cache.nodes.get_mut("node-a").unwrap().labels.clear();
    cluster.settle();
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.message("blue", "Reconciling"), "waiting for 1 node to remove the network, first node-a");
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

#[test]
fn a_manually_deleted_compiled_network_is_recreated_draining_while_pods_use_it() {
    let mut cluster = deleted_in_use(2);
    cluster.cache.compiled.remove("blue");
    cluster.compiled.remove("blue");
    cluster.settle();
    assert_eq!(cluster.compiled["blue"].phase, Draining);
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    cluster.attach("node-b", "blue", 0);
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.compiled.is_empty());
}

#[test]
fn a_removed_finalizer_is_restored_and_nodes_keep_the_network() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let compiled = cluster.compiled.clone();
    cluster.edit("blue", |network| network.finalizer = None);
    let writes = cluster.pass();
    assert!(
        writes.iter().any(|write| matches!(write, Write::Finalizer { change: FinalizerChange::Add, .. })),
        "{writes:?}"
    );
    assert_eq!(cluster.compiled, compiled);
}

fn set_force_delete(cluster: &mut Cluster, value: &str) {
    cluster.edit("blue", |network| network.force_delete = Some(value.to_owned()));
    cluster.settle();
}

#[test]
fn the_network_name_in_the_annotation_forces_deletion() {
    let mut cluster = deleted_in_use(2);
    set_force_delete(&mut cluster, "blue");
    assert!(cluster.cache.networks.is_empty() && cluster.nads.is_empty());
    assert_eq!(cluster.networks_on("node-b"), [("blue".to_owned(), Draining)], "its pods keep their ports");
    assert!(cluster.compiled.is_empty());
}

#[test]
fn another_value_of_the_annotation_is_ignored_and_reported() {
    let mut cluster = deleted_in_use(2);
    for value in ["true", "Blue", ""] {
        set_force_delete(&mut cluster, value);
        assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
        let message = cluster.message("blue", "DeletionBlocked");
        assert!(message.ends_with(&format!("its value {value:?} is not the name of this network")), "{message}");
    }
}

#[test]
fn the_annotation_alone_deletes_nothing() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    set_force_delete(&mut cluster, "blue");
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
}

#[test]
fn a_recreated_node_starts_without_the_reports_of_the_old_one() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.cache.nodes.remove("node-b");
    // Only the name is the same; the old state still exists.
    cluster.node("node-b", true);
    let first: Vec<String> = cluster.pass().iter().map(ToString::to_string).collect();
    assert!(first.contains(&"delete UserspaceNodeState node-b".to_owned()), "{first:?}");
    assert_eq!(cluster.condition("blue", "Programmed"), "False Pending", "the old report counted");
    cluster.settle();
    let state = &cluster.cache.states["node-b"];
    assert_eq!((state.owner.as_ref(), &state.status), (Some(&cluster.cache.nodes["node-b"].uid), &None));
    assert_eq!(cluster.condition("blue", "Ready"), "False Pending");
}
