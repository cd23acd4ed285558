//! The deletion of uplinks.

use super::super::super::write::Write;
use super::super::model::Cluster;
use super::{compiled_vlan, device, overlay_of_engine, with_underlay};
use serde_json::json;

#[test]
fn an_uplink_in_use_is_deleted_after_its_networks() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7", "8"]);
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.settle();
    cluster.delete_uplink("fab");
    cluster.network_on_uplink("late", "fab", Some(8));
    cluster.settle();
    let (condition, text) = cluster.uplink_condition("fab", "DeletionBlocked");
    assert_eq!(
        (condition.as_str(), cluster.uplink_condition("fab", "Ready").0.as_str()),
        ("True InUse", "False Terminating")
    );
    assert!(text.starts_with("1 network still use it: blue; delete these networks"), "{text}");
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("late", "Accepted"), "False UplinkUnusable");
    assert!(device(&cluster, "node-a").is_some());
    cluster.delete_network("blue");
    cluster.settle();
    assert!(cluster.cache.uplinks.is_empty());
    assert_eq!(device(&cluster, "node-a"), None);
    assert_eq!(cluster.condition("late", "Accepted"), "False UplinkMissing");
}

#[test]
fn an_uplink_that_nothing_uses_is_deleted_at_once() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &[]);
    cluster.settle();
    assert!(cluster.cache.uplinks["fab"].has_finalizer());
    assert_eq!(cluster.uplink_condition("fab", "Ready").0, "True AllNodes", "also without a network");
    cluster.delete_uplink("fab");
    cluster.settle();
    assert!(cluster.cache.uplinks.is_empty());
}

#[test]
fn a_network_that_is_deleted_with_its_uplink_before_nodes_had_it_is_not_compiled() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("lab", &["100"]);
    cluster.network_on_uplink("red", "lab", Some(100));
    // The finalizers.
    cluster.pass();
    assert!(cluster.cache.networks["red"].has_finalizer() && cluster.compiled.is_empty());
    cluster.delete_network("red");
    cluster.delete_uplink("lab");
    let writes = cluster.pass();
    assert!(!writes.iter().any(|write| matches!(write, Write::Compiled { .. })), "{writes:?}");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.cache.uplinks.is_empty());
}

#[test]
fn an_uplink_waits_for_a_network_that_is_compiled_again_to_drain() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("lab", &["100"]);
    cluster.network_on_uplink("red", "lab", Some(100));
    cluster.settle();
    cluster.attach("node-a", "red", 1);
    cluster.settle();
    cluster.delete_network("red");
    cluster.cache.compiled.clear();
    cluster.compiled.clear();
    cluster.settle();
    cluster.delete_uplink("lab");
    cluster.settle();
    assert_eq!(compiled_vlan(&cluster, "red"), Some(100));
    assert!(cluster.cache.uplinks.contains_key("lab"), "removed while a pod uses it");
    cluster.attach("node-a", "red", 0);
    cluster.settle();
    assert!(cluster.cache.networks.is_empty() && cluster.cache.uplinks.is_empty());
}

/// Its finalizer was removed by hand.
#[test]
fn nodes_keep_an_uplink_that_disappears_under_a_network() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.settle();
    cluster.cache.uplinks.remove("fab");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False UplinkMissing");
    assert!(compiled_vlan(&cluster, "blue").is_some() && device(&cluster, "node-b").is_some());
    assert_eq!(cluster.networks_on("node-a").len(), 1);
}

#[test]
fn the_deletion_of_an_uplink_waits_for_overlays() {
    let mut cluster = Cluster::new();
    with_underlay(&mut cluster, &[]);
    overlay_of_engine(&mut cluster, "blue", "OVS", "IPv4");
    cluster.settle();
    cluster.delete_uplink("fab");
    cluster.settle();
    let (blocked, text) = cluster.uplink_condition("fab", "DeletionBlocked");
    assert!(blocked == "True InUse" && text.contains("blue"), "{blocked}: {text}");
    cluster.delete_network("blue");
    cluster.settle();
    assert!(!cluster.cache.uplinks.contains_key("fab"));
}

#[test]
fn a_network_that_drains_without_an_uplink_does_not_use_the_one_that_it_requested_last() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.attach("node-a", "blue", 1);
    cluster.settle();
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.settle();
    cluster.delete_network("blue");
    cluster.simple_uplink("fab", &["7"]);
    cluster.settle();
    assert_eq!(cluster.uplink_status("fab").networks, Vec::<String>::new());
    cluster.delete_uplink("fab");
    cluster.settle();
    assert!(cluster.cache.uplinks.is_empty() && !cluster.cache.networks.is_empty());
}

#[test]
fn a_rejected_network_is_not_compiled_when_it_is_deleted() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    let topology = json!({"type": "Uplink", "uplink": {"name": "fab", "vlan": 7}});
    let ipam = json!({"type": "host-local", "subnet": "10.1.0.0/28"});
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "topology": topology, "ipam": ipam}));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False AddressesNotUnique");
    cluster.delete_network("blue");
    let writes = cluster.pass();
    assert!(!writes.iter().any(|write| matches!(write, Write::Compiled { .. })), "{writes:?}");
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}
