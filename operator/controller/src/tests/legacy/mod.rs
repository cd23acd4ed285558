//! Users' NADs: the networks that are generated from them, and the events about them.

mod conflicts;
mod joining;
mod order;
mod threats;

use super::model::{Cluster, key};
use serde_json::{Value, json};
use usnet_crds::Phase::{Active, Draining};

/// A configuration of Intel's userspace CNI for an Open vSwitch bridge.
pub(super) fn open_vswitch(bridge: &str) -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "old", "kubeconfig": "/etc/cni/net.d/multus.kubeconfig",
        "host": {"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": {"bridgeName": bridge}},
        "ipam": {"type": "host-local", "subnet": "10.56.217.0/24"},
    })
}

/// The same with VPP.
pub(super) fn vpp(bridge: &str) -> Value {
    json!({
        "type": "userspace",
        "host": {"engine": "vpp", "iftype": "memif", "memif": {"role": "master"}, "bridge": {"bridgeName": bridge}},
    })
}

pub(super) fn with_vlan(mut config: Value, tag: i64) -> String {
    config["host"]["bridge"]["vlanId"] = tag.into();
    config.to_string()
}

/// The bridge on a node and the namespaces whose pods may attach; none when the node does not carry
/// the network.
fn carried(cluster: &Cluster, network: &str) -> Option<(String, Vec<String>)> {
    let held = cluster.agents["node-a"].spec.networks.iter().find(|held| held.name.as_str() == network)?;
    let namespaces =
        if held.namespaces.all { vec!["*".to_owned()] } else { held.namespaces.names.iter().cloned().collect() };
    Some((held.bridge.name.to_string(), namespaces))
}

fn on(bridge: &str, namespaces: &[&str]) -> Option<(String, Vec<String>)> {
    Some((bridge.to_owned(), namespaces.iter().map(|&name| name.to_owned()).collect()))
}

#[test]
fn a_bridge_named_by_nads_becomes_a_network_until_the_last_is_deleted() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.nad("other", "two", &open_vswitch("br0").to_string());
    cluster.nad("other", "three", &vpp("4").to_string());
    let written = cluster.nads.clone();
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["other", "team-a"]));
    assert_eq!(carried(&cluster, "vpp-4"), on("4", &["other"]));
    assert_eq!(cluster.condition("ovs-br0", "Ready"), "True AllNodes");
    assert_eq!(cluster.nads, written, "NADs of users stay as they are, and none is generated");
    assert_eq!(cluster.reports(), []);

    cluster.delete_nad("team-a", "one");
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["other"]));
    cluster.attach("node-a", "ovs-br0", 1);
    cluster.report();
    cluster.delete_nad("other", "two");
    cluster.settle();
    let held = cluster.networks_on("node-a");
    assert_eq!(held, [("ovs-br0".to_owned(), Draining), ("vpp-4".to_owned(), Active)], "a pod still uses it");
    cluster.attach("node-a", "ovs-br0", 0);
    cluster.report();
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().collect::<Vec<_>>(), ["vpp-4"]);
}

#[test]
fn edits_are_reverted_until_the_label_is_removed() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    let mine =
        json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0", "mtu": 9000}, "nodeSelector": {}});
    cluster.network("ovs-br0", &mine);
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["team-a"]));
    let network = cluster.cache.networks["ovs-br0"].spec.clone().unwrap();
    assert_eq!((network.bridge.mtu.get(), network.nodes), (1500, None));

    cluster.edit("ovs-br0", |network| network.has_from_nad_label = false);
    cluster.network("ovs-br0", &mine);
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["*"]));
    cluster.delete_nad("team-a", "one");
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["*"]), "it is a user's now");
}

#[test]
fn a_deleted_generated_network_is_recreated() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    let uid = cluster.cache.networks["ovs-br0"].uid.clone();
    cluster.delete_network("ovs-br0");
    cluster.settle();
    assert_ne!(cluster.cache.networks["ovs-br0"].uid, uid);
    assert_eq!(carried(&cluster, "ovs-br0"), on("br0", &["team-a"]));
}

#[test]
fn a_typing_error_does_not_delete_a_network() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    for broken in ["{", r#"{"type": "userspace", "host": {"engine": "?"}}"#] {
        cluster.nad("team-a", "one", broken);
        cluster.settle();
        assert_eq!(cluster.networks_on("node-a"), [("ovs-br0".to_owned(), Active)], "{broken}");
    }
    let reports = cluster.reports();
    assert_eq!(reports[0].0, "team-a/one InvalidConfiguration");
    assert!(reports[0].1.contains("\"host.engine\" is \"?\": use ovs-dpdk or vpp"), "{}", reports[0].1);
    cluster.delete_nad("team-a", "one");
    cluster.settle();
    assert!(cluster.networks_on("node-a").is_empty());
}

#[test]
fn a_version_that_the_plugin_does_not_speak_is_reported_and_older_ones_are_not() {
    let mut cluster = Cluster::new();
    for (number, version) in ["0.1.0", "0.2.0", "0.3.0", "9.9.9"].into_iter().enumerate() {
        let mut config = open_vswitch(&format!("br{number}"));
        config["cniVersion"] = version.into();
        cluster.nad("team-a", &format!("nad-{number}"), &config.to_string());
    }
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a").len(), 3);
    let reports = cluster.reports();
    let [(about, message)] = reports.as_slice() else { panic!("{reports:?}") };
    assert_eq!(about, "team-a/nad-3 InvalidConfiguration");
    assert!(message.contains("\"9.9.9\"") && message.contains("0.3.0, 0.3.1"), "{message}");
}

#[test]
fn an_ipam_of_a_definition_that_is_wrong_or_ignored_is_reported() {
    let mut cluster = Cluster::new();
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/24"}]]});
    let spec = |ipam: Option<&Value>| {
        let mut spec = json!({"engine": "OVS", "namespaceSelector": {}});
        ipam.iter().for_each(|ipam| spec["ipam"] = (*ipam).clone());
        spec
    };
    cluster.network("with", &spec(Some(&ipam)));
    cluster.network("without", &spec(None));
    let config = |network: &str, ipam: &Value| {
        json!({"cniVersion": "1.0.0", "type": "userspace", "name": "x", "network": network, "ipam": ipam}).to_string()
    };
    cluster.nad("team-a", "ignored", &config("with", &ipam));
    cluster.nad("team-a", "used", &config("without", &ipam));
    cluster.nad("team-a", "no-plugin", &config("with", &json!({"type": ""})));
    let misspelt = json!({"type": "host-local", "subnet": "10.1.0.0/24", "startRange": "10.1.0.50"});
    cluster.nad("team-a", "misspelt", &config("without", &misspelt));
    let mut of_bridge = open_vswitch("br7");
    of_bridge["ipam"] = json!({"type": "host-local", "ranges": [[]]});
    cluster.nad("team-a", "of-bridge", &of_bridge.to_string());
    cluster.settle();
    let mut reports = cluster.reports();
    reports.sort();
    let parts = [
        ("ignored IpamIgnored", "network with has spec.ipam"),
        (
            "misspelt InvalidConfiguration",
            "startRange: host-local has no such key, and would ignore it: use rangeStart",
        ),
        ("of-bridge InvalidConfiguration", "a set of ranges is empty"),
    ];
    assert_eq!(reports.len(), parts.len(), "{reports:?}");
    for ((about, message), (subject, part)) in reports.iter().zip(parts) {
        assert!(*about == format!("team-a/{subject}") && message.contains(part), "{about}: {message}");
    }
}

#[test]
fn nothing_is_deleted_while_nads_cannot_be_read() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    cluster.set_nads_unavailable();
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("ovs-br0".to_owned(), Active)]);
}

#[test]
fn legacy_settings_are_compiled_for_nodes() {
    let mut cluster = Cluster::new();
    let mut config = vpp("4");
    config["host"]["mtu"] = 9000.into();
    config["host"]["memif"] = json!({"rxQueues": 4, "ringSize": 2048});
    cluster.nad("team-a", "one", &with_vlan(config, 7));
    cluster.settle();
    let held = cluster.compiled["vpp-4"].clone();
    let network = serde_json::to_value(&held).unwrap();
    assert_eq!(network["bridge"]["mtu"], 9000);
    assert_eq!(network["port"]["type"], "Memif");
    assert_eq!((&network["port"]["queues"], &network["port"]["ringSize"]), (&json!(4), &json!(2048)));
    assert_eq!(network["port"]["vlan"], json!({"mode": "Access", "tag": 7}));
    assert_eq!(held.ipam, None, "each NAD keeps its own");
}

#[test]
fn a_nad_of_a_terminating_namespace_is_ignored() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    cluster.cache.namespaces.get_mut("team-a").unwrap().is_deleting = true;
    cluster.settle();
    assert!(cluster.cache.networks.is_empty());
}

#[test]
fn nads_of_other_plugins_are_ignored_and_plugin_lists_are_searched() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "foreign", r#"{"type": "bridge", "bridge": "br0"}"#);
    cluster.nad("team-a", "empty", "");
    cluster.nad("team-a", "list", &json!({"plugins": [{"type": "tuning"}, open_vswitch("br7")]}).to_string());
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().collect::<Vec<_>>(), ["ovs-br7"]);
    assert_eq!(cluster.reports(), []);
    assert!(cluster.nads.contains_key(&key("team-a", "foreign")));
}
