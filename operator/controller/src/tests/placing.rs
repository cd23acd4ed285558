//! The placement of networks on nodes and in namespaces.

use super::super::write::{FinalizerChange, Write};
use super::model::{Cluster, key};
use serde_json::json;
use usnet_crds::EngineKind;
use usnet_crds::Phase::{Active, Draining};

#[test]
fn the_finalizer_comes_before_everything_else() {
    let mut cluster = Cluster::new();
    cluster.settle();
    cluster.simple_network("blue");
    let first = cluster.pass();
    assert!(matches!(&first[..], [Write::Finalizer { change: FinalizerChange::Add, .. }]), "{first:?}");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("blue".to_owned(), Active)]);
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
    let compiled = serde_json::to_value(&cluster.compiled["blue"]).unwrap();
    let expected = json!({
        "generation": 1, "created": cluster.cache.networks["blue"].created, "phase": "Active", "engine": "OVS",
        "bridge": {"name": "br-blue", "mtu": 9000, "macLearning": "Enabled", "macAgeSeconds": 300, "ownership": "Managed"},
        "port": {
            "type": "VhostUser", "queues": 2, "ringSize": 1024, "vlan": {"mode": "Access", "tag": 7},
            "rateLimit": {"ingressKbps": 5000},
            "memif": {"socket": "Volume", "secret": "None"}, "vhostUser": {"engineRole": "Client"},
        },
        "namespaces": {"names": ["team-a"], "selector": "team=a"}, "ipam": ipam,
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
    let compiled = serde_json::to_value(&cluster.compiled["blue"]).unwrap();
    let expected = json!({
        "generation": 1, "created": cluster.cache.networks["blue"].created, "phase": "Active", "engine": "VPP",
        "bridge": {"name": "4", "mtu": 1500, "macLearning": "Disabled", "macAgeSeconds": 120, "ownership": "Adopted"},
        "port": {
            "type": "Memif", "queues": 4, "ringSize": 256, "rateLimit": {},
            "memif": {"socket": "Volume", "secret": "Generated"}, "vhostUser": {"engineRole": "Client"},
        },
        "namespaces": {"names": ["team-a"], "selector": "team=a"},
    });
    assert_eq!(compiled, expected);
}

#[test]
fn a_bridge_domain_without_an_id_follows_from_the_name_alone() {
    let mut cluster = Cluster::new();
    cluster.simple_vpp_network("blue");
    cluster.settle();
    let mut other = Cluster::new();
    other.simple_vpp_network("red");
    other.simple_vpp_network("blue");
    other.settle();
    assert_eq!(cluster.compiled["blue"].bridge, other.compiled["blue"].bridge);
    assert_ne!(other.compiled["blue"].bridge, other.compiled["red"].bridge);
}

#[test]
fn nads_follow_the_namespace_selector() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["team-a"]);
    cluster.namespace("team-a", &[]);
    cluster.namespace("other", &[("team", "a")]);
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["other"]);
    assert_eq!(cluster.compiled["blue"].namespaces.names, ["other".to_owned()].into());
}

#[test]
fn the_empty_selector_allows_all_namespaces_and_leaves_nads_out_of_those_of_the_system() {
    let mut cluster = Cluster::new();
    for name in ["kube-system", "usnet-system", "kube-public", "kube-node-lease"] {
        cluster.namespace(name, &[]);
    }
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}}));
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["other", "team-a"]);
    assert!(cluster.compiled["blue"].namespaces.allow("kube-system"));
    let version = cluster.cache.compiled["blue"].version;
    cluster.namespace("new", &[]);
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["new", "other", "team-a"]);
    assert_eq!(cluster.cache.compiled["blue"].version, version, "no node has to know of it");
    let by_name = json!({"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}});
    cluster.network("red", &json!({"engine": "OVS", "namespaceSelector": by_name}));
    cluster.settle();
    assert_eq!(cluster.generated("red"), ["kube-system"]);
}

#[test]
fn a_shared_nad_is_in_one_namespace_whatever_is_selected() {
    let mut cluster = Cluster::new();
    cluster.namespace("usnet-system", &[]);
    let mut spec =
        json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}, "definitions": "Shared"});
    cluster.network("blue", &spec);
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["usnet-system"]);
    assert_eq!(
        cluster.compiled["blue"].namespaces.names,
        ["team-a".to_owned()].into(),
        "who may attach is another matter"
    );
    spec["definitions"] = "PerNamespace".into();
    cluster.network("blue", &spec);
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["team-a"]);
}

#[test]
fn nads_have_the_resource_while_the_network_is_one() {
    let mut cluster = Cluster::new();
    let resource = |cluster: &Cluster| {
        assert_eq!(cluster.condition("blue", "DefinitionsReady"), "True Synced");
        cluster.nads[&key("team-a", "blue")].resource.clone()
    };
    let mut spec = json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}});
    for (devices, expected) in [(None, None), (Some(8), Some("usnet.dev/blue")), (None, None)] {
        spec["devicePlugin"] = devices.map(|devices| json!({"devices": devices})).unwrap_or_default();
        cluster.network("blue", &spec);
        cluster.settle();
        assert_eq!(resource(&cluster).as_deref(), expected);
        let device_plugin = cluster.compiled["blue"].device_plugin;
        assert_eq!(device_plugin.map(|plugin| i64::from(plugin.devices)), devices);
    }
}

#[test]
fn a_terminating_namespace_gets_nothing() {
    let mut cluster = Cluster::new();
    cluster.cache.namespaces.get_mut("team-a").unwrap().is_deleting = true;
    cluster.simple_network("blue");
    cluster.settle();
    assert!(cluster.nads.is_empty());
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "True Synced");
}

#[test]
fn manual_edits_are_reverted() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let (nads, compiled) = (cluster.nads.clone(), cluster.compiled.clone());
    let mut edited = nads[&key("team-a", "blue")].clone();
    edited.config = "{}".to_owned();
    cluster.put_nad(key("team-a", "blue"), edited);
    let mut spec = compiled["blue"].clone();
    spec.namespaces = usnet_crds::Namespaces::all();
    let found = cluster.cache.compiled["blue"].clone();
    cluster.put_compiled("blue", &found.uid, &found.owner.unwrap(), &spec);
    cluster.cache.states.get_mut("node-a").unwrap().labels.clear();
    cluster.cache.states.remove("node-b");
    cluster.settle();
    assert_eq!(cluster.compiled, compiled);
    assert_eq!(cluster.nads[&key("team-a", "blue")].config, nads[&key("team-a", "blue")].config);
    assert_eq!(cluster.cache.states["node-a"].labels, cluster.cache.nodes["node-a"].labels);
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    cluster.cache.compiled.remove("blue");
    cluster.compiled.remove("blue");
    cluster.settle();
    assert_eq!(cluster.compiled, compiled);
}

#[test]
fn a_compiled_network_of_an_earlier_network_of_that_name_is_deleted_first() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let uid = cluster.cache.compiled["blue"].uid.clone();
    cluster.edit("blue", |network| network.uid = "another".to_owned());
    cluster.settle();
    let found = &cluster.cache.compiled["blue"];
    assert_eq!(found.owner.as_deref(), Some("another"));
    assert_ne!(found.uid, uid);
}

#[test]
fn a_changed_network_is_written_once_whatever_the_number_of_nodes() {
    let mut cluster = Cluster::new();
    for number in 0..20 {
        cluster.node(&format!("node-{number}"), true);
    }
    cluster.simple_network("blue");
    cluster.simple_network("red");
    cluster.settle();
    let spec = json!({"engine": "OVS", "bridge": {"mtu": 9000}, "namespaceSelector": {"matchLabels": {"team": "a"}}});
    cluster.network("blue", &spec);
    let mut writes = Vec::new();
    for _ in 0..4 {
        writes.extend(cluster.pass().iter().map(ToString::to_string));
        cluster.report();
    }
    let expected = [
        "write CompiledNetwork blue",
        "write the status of UserspaceNetwork blue",
        "write the status of UserspaceNetwork blue",
    ];
    assert_eq!(writes, expected, "the second status says that it is ready");
}

#[test]
fn nodes_without_the_engine_are_left_out_unless_they_are_named() {
    let mut cluster = Cluster::new();
    cluster.without_engine.insert(("node-b".to_owned(), EngineKind::OpenVswitch));
    cluster.simple_network("blue");
    let everything = json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {}});
    cluster.network("named", &everything);
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a").len(), 2);
    assert_eq!(cluster.networks_on("node-b"), [("named".to_owned(), Active)]);
    assert_eq!(cluster.status("blue").nodes.summary, "1/1");
    assert_eq!(cluster.status("named").nodes.summary, "1/2");
}

#[test]
fn a_network_is_placed_where_its_engine_is() {
    let mut cluster = Cluster::new();
    cluster.without_engine.insert(("node-a".to_owned(), EngineKind::Vpp));
    cluster.without_engine.insert(("node-b".to_owned(), EngineKind::OpenVswitch));
    cluster.simple_network("with-ovs");
    cluster.simple_vpp_network("with-vpp");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("with-ovs".to_owned(), Active)]);
    assert_eq!(cluster.networks_on("node-b"), [("with-vpp".to_owned(), Active)]);
    cluster.without_engine.clear();
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a").len(), 2);
    assert_eq!(cluster.condition("with-vpp", "Ready"), "True AllNodes");
}

#[test]
fn a_node_that_is_no_longer_selected_keeps_the_network_until_its_pods_end() {
    let mut cluster = Cluster::new();
    let only =
        |host: &str| json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": {"matchLabels": {"host": host}}});
    cluster.network("blue", &only("node-a"));
    cluster.settle();
    cluster.attach("node-a", "blue", 1);
    cluster.report();
    cluster.network("blue", &only("node-b"));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("blue".to_owned(), Draining)]);
    assert_eq!(cluster.networks_on("node-b"), [("blue".to_owned(), Active)]);
    cluster.attach("node-a", "blue", 0);
    cluster.report();
    cluster.settle();
    assert!(cluster.networks_on("node-a").is_empty());
}

#[test]
fn a_node_state_is_deleted_with_its_node_and_recreated_for_a_new_one_of_that_name() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.cache.nodes.remove("node-b");
    cluster.settle();
    assert!(!cluster.cache.states.contains_key("node-b"));
    cluster.cache.nodes.get_mut("node-a").unwrap().uid = "reborn".to_owned();
    cluster.settle();
    assert_eq!(cluster.cache.states["node-a"].owner.as_deref(), Some("reborn"));
}

#[test]
fn a_conflict_about_an_adopted_bridge_is_reported_by_both_networks() {
    let mut cluster = Cluster::new();
    let adopting = |tag: i64| {
        json!({
            "engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0", "ownership": "Adopted"},
            "port": {"vlan": {"mode": "Access", "tag": tag}},
        })
    };
    cluster.network("older", &adopting(5));
    cluster.network("other", &adopting(6));
    cluster.settle();
    for name in ["older", "other"] {
        assert_eq!(cluster.condition(name, "Ready"), "True AllNodes", "{name}");
    }
    cluster.network("younger", &adopting(5));
    cluster.settle();
    assert_eq!(cluster.condition("younger", "Accepted"), "False BridgeConflict");
    let message = cluster.message("younger", "Accepted");
    assert!(message.contains("network older") && message.contains("spec.port.vlan"), "{message}");
    assert_eq!(cluster.condition("older", "Ready"), "True AllNodes");
    let message = cluster.message("older", "Accepted");
    assert!(message.contains("BridgeConflict: younger;") && message.contains("spec.port.vlan"), "{message}");
    cluster.network("younger", &adopting(7));
    cluster.settle();
    assert_eq!(cluster.condition("younger", "Ready"), "True AllNodes");
    assert!(!cluster.message("older", "Accepted").contains("younger"));
}
