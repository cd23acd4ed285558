//! Which nodes and namespaces get a network.

use super::super::diff::Write;
use super::model::{Cluster, key};
use serde_json::json;
use std::collections::BTreeSet;
use usnet_crds::Engine;
use usnet_crds::Phase::{Active, Draining};

#[test]
fn the_finalizer_and_a_first_word_come_before_everything_else() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.simple_network("blue");
    let first = cluster.pass();
    assert!(
        matches!(&first[..], [Write::Finalizer { present: true, .. }, Write::Status { is_news: true, .. }]),
        "{first:?}"
    );
    assert_eq!(cluster.condition("blue", "Ready"), "Unknown Starting");
    assert!(cluster.held("node-a").is_empty());
    cluster.settle();
    assert_eq!(cluster.held("node-a"), [("blue".to_owned(), Active)]);
}

#[test]
fn a_network_is_compiled_whole() {
    let mut cluster = Cluster::new();
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/24"}]], "dataDir": "/x"});
    let spec = json!({
        "engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}, "bridge": {"mtu": 9000},
        "port": {"queues": 2, "vlan": {"mode": "Access", "tag": 7}, "rateLimit": {"ingressKbps": 5000}}, "ipam": ipam,
        "attachments": [
            {"namespace": "db", "pod": "b", "vlan": {"mode": "Trunk", "trunks": [9, 8]}, "rateLimit": {}},
            {"namespace": "db", "pod": "a", "ips": ["10.0.0.7/24"], "mac": "02:00:00:00:00:0A"},
        ],
    });
    cluster.network("blue", &spec);
    cluster.settle();
    let compiled = serde_json::to_value(&*cluster.compiled().nodes["node-b"]["blue"]).unwrap();
    let expected = json!({
        "name": "blue", "generation": 1, "phase": "Active", "engine": "OVS",
        "bridge": {"name": "br-blue", "mtu": 9000, "macLearning": "Enabled", "macAgeSeconds": 300, "ownership": "Managed"},
        "port": {
            "type": "VhostUser", "queues": 2, "ringSize": 1024, "vlan": {"mode": "Access", "tag": 7},
            "rateLimit": {"ingressKbps": 5000},
            "memif": {"socket": "Volume", "secret": "None"}, "vhostUser": {"engineRole": "Client"},
        },
        "allowedNamespaces": ["team-a"], "ipam": ipam,
        "attachments": [
            {"namespace": "db", "pod": "a", "ips": ["10.0.0.7/24"], "mac": "02:00:00:00:00:0a"},
            {"namespace": "db", "pod": "b", "vlan": {"mode": "Trunk", "trunks": [8, 9]}, "rateLimit": {}},
        ],
    });
    assert_eq!(compiled, expected);
}

#[test]
fn a_network_of_vpp_is_compiled_whole() {
    let mut cluster = Cluster::new();
    let spec = json!({
        "engine": "VPP", "namespaceSelector": {"matchLabels": {"team": "a"}},
        "bridge": {"id": 4, "macLearning": "Disabled", "macAgeSeconds": 120, "ownership": "Adopted"},
        "port": {"queues": 4, "ringSize": 256, "memif": {"secret": "Generated"}},
    });
    cluster.network("blue", &spec);
    cluster.settle();
    let compiled = serde_json::to_value(&*cluster.compiled().nodes["node-b"]["blue"]).unwrap();
    let expected = json!({
        "name": "blue", "generation": 1, "phase": "Active", "engine": "VPP",
        "bridge": {"name": "4", "mtu": 1500, "macLearning": "Disabled", "macAgeSeconds": 120, "ownership": "Adopted"},
        "port": {
            "type": "Memif", "queues": 4, "ringSize": 256, "rateLimit": {},
            "memif": {"socket": "Volume", "secret": "Generated"}, "vhostUser": {"engineRole": "Client"},
        },
        "allowedNamespaces": ["team-a"],
    });
    assert_eq!(compiled, expected);
}

#[test]
fn a_bridge_domain_that_nobody_chose_has_one_id_on_all_nodes_and_keeps_it() {
    let mut cluster = Cluster::new();
    cluster.simple_vpp_network("blue");
    cluster.settle();
    let ids = |cluster: &Cluster| -> BTreeSet<String> {
        cluster.compiled().nodes.values().map(|networks| networks["blue"].bridge.name.to_string()).collect()
    };
    let chosen = ids(&cluster);
    assert_eq!(chosen.len(), 1);
    let mut reborn = Cluster::new();
    reborn.simple_vpp_network("red");
    reborn.simple_vpp_network("blue");
    reborn.settle();
    assert_eq!(ids(&reborn), chosen);
}

#[test]
fn definitions_follow_the_namespace_selector() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let keys = |cluster: &Cluster| cluster.inputs.definitions.clone().unwrap().into_keys().collect::<Vec<_>>();
    assert_eq!(keys(&cluster), [key("team-a", "blue")]);
    cluster.namespace("team-a", &[]);
    cluster.namespace("other", &[("team", "a")]);
    cluster.settle();
    assert_eq!(keys(&cluster), [key("other", "blue")]);
    assert_eq!(cluster.compiled().nodes["node-a"]["blue"].allowed_namespaces, ["other".to_owned()].into());
}

#[test]
fn definitions_have_the_resource_while_the_network_is_one() {
    let mut cluster = Cluster::new();
    let resource = |cluster: &Cluster| {
        assert_eq!(cluster.condition("blue", "DefinitionsReady"), "True Synced");
        cluster.inputs.definitions.as_ref().unwrap()[&key("team-a", "blue")].resource.clone()
    };
    let mut spec = json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}});
    for (devices, expected) in [(None, None), (Some(8), Some("usnet.dev/blue")), (None, None)] {
        spec["devicePlugin"] = devices.map(|devices| json!({"devices": devices})).unwrap_or_default();
        cluster.network("blue", &spec);
        cluster.settle();
        assert_eq!(resource(&cluster).as_deref(), expected);
        let told = cluster.compiled().nodes["node-a"]["blue"].device_plugin;
        assert_eq!(told.map(|plugin| i64::from(plugin.devices)), devices);
    }
}

#[test]
fn a_namespace_that_is_going_away_gets_nothing() {
    let mut cluster = Cluster::new();
    cluster.inputs.namespaces.get_mut("team-a").unwrap().is_deleting = true;
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.inputs.definitions, Some([].into()));
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "True Synced");
}

#[test]
fn what_somebody_edits_is_mended() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let good = cluster.inputs.clone();
    let definitions = cluster.inputs.definitions.as_mut().unwrap();
    definitions.get_mut(&key("team-a", "blue")).unwrap().config = "{}".to_owned();
    cluster.inputs.states.get_mut("node-a").unwrap().networks = None;
    cluster.settle();
    let healed = &cluster.inputs;
    let config = |definitions: &super::super::inputs::Inputs| {
        definitions.definitions.as_ref().unwrap()[&key("team-a", "blue")].config.clone()
    };
    assert_eq!(config(healed), config(&good));
    assert_eq!(healed.states["node-a"].networks, good.states["node-a"].networks);
}

#[test]
fn nodes_without_the_engine_are_left_out_unless_they_are_named() {
    let mut cluster = Cluster::new();
    cluster.without_engine.insert(("node-b".to_owned(), Engine::OpenVswitch));
    cluster.simple_network("blue");
    let everything = json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {}});
    cluster.network("named", &everything);
    cluster.settle();
    assert_eq!(cluster.held("node-a").len(), 2);
    assert_eq!(cluster.held("node-b"), [("named".to_owned(), Active)]);
    assert_eq!(cluster.status("blue").nodes.summary, "1/1");
    assert_eq!(cluster.status("named").nodes.summary, "1/2");
}

#[test]
fn a_network_goes_where_its_own_engine_is() {
    let mut cluster = Cluster::new();
    cluster.without_engine.insert(("node-a".to_owned(), Engine::Vpp));
    cluster.without_engine.insert(("node-b".to_owned(), Engine::OpenVswitch));
    cluster.simple_network("with-ovs");
    cluster.simple_vpp_network("with-vpp");
    cluster.settle();
    assert_eq!(cluster.held("node-a"), [("with-ovs".to_owned(), Active)]);
    assert_eq!(cluster.held("node-b"), [("with-vpp".to_owned(), Active)]);
    cluster.without_engine.clear();
    cluster.settle();
    assert_eq!(cluster.held("node-a").len(), 2);
    assert_eq!(cluster.condition("with-vpp", "Ready"), "True AllNodes");
}

#[test]
fn a_node_that_is_no_longer_selected_keeps_the_network_until_its_pods_are_gone() {
    let mut cluster = Cluster::new();
    let only =
        |host: &str| json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {"matchLabels": {"host": host}}});
    cluster.network("blue", &only("node-a"));
    cluster.settle();
    cluster.attach("node-a", "blue", 1);
    cluster.agents();
    cluster.network("blue", &only("node-b"));
    cluster.settle();
    assert_eq!(cluster.held("node-a"), [("blue".to_owned(), Draining)]);
    assert_eq!(cluster.held("node-b"), [("blue".to_owned(), Active)]);
    cluster.attach("node-a", "blue", 0);
    cluster.agents();
    cluster.settle();
    assert!(cluster.held("node-a").is_empty());
}

#[test]
fn the_state_of_a_node_goes_with_it_and_belongs_to_the_new_one_of_that_name() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.inputs.nodes.remove("node-b");
    cluster.settle();
    assert!(!cluster.inputs.states.contains_key("node-b"));
    cluster.inputs.nodes.get_mut("node-a").unwrap().uid = "reborn".to_owned();
    cluster.settle();
    assert_eq!(cluster.inputs.states["node-a"].owner.as_deref(), Some("reborn"));
}
