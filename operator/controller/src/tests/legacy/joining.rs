//! NADs and users' networks.

use super::*;
use usnet_crds::MemifMode;

#[test]
fn a_nad_that_names_a_network_is_checked() {
    let mut cluster = Cluster::new();
    let blue = json!({"type": "userspace", "network": "blue"}).to_string();
    cluster.nad("other", "mine", &blue);
    cluster.settle();
    let reports = cluster.reports();
    assert_eq!(reports[0].0, "other/mine UnknownNetwork");
    assert!(reports[0].1.contains("create UserspaceNetwork blue"), "{}", reports[0].1);
    cluster.simple_network("blue");
    cluster.settle();
    let reports = cluster.reports();
    assert_eq!((reports.len(), reports[0].0.as_str()), (1, "other/mine NamespaceNotSelected"));
    assert!(reports[0].1.contains("pods of namespace other may not attach to network blue"), "{}", reports[0].1);
    cluster.namespace("other", &[("team", "a")]);
    cluster.settle();
    assert_eq!(cluster.reports(), []);
}

#[test]
fn a_bridge_that_a_network_has_is_joined_and_that_network_decides() {
    let mut cluster = Cluster::new();
    let bridge =
        json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}, "bridge": {"name": "br0"}});
    cluster.network("blue", &bridge);
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.nad("other", "two", &open_vswitch("br0").to_string());
    cluster.nad("team-a", "three", &with_vlan(open_vswitch("br0"), 7));
    cluster.settle();
    assert_eq!(cluster.cache.networks.keys().collect::<Vec<_>>(), ["blue"]);
    let reports = cluster.reports();
    let about: Vec<&str> = reports.iter().map(|(about, _)| about.as_str()).collect();
    assert_eq!(about, ["other/two NamespaceNotSelected", "team-a/three DefinitionsDisagree"]);
    assert!(reports[1].1.contains("bridge br0 belongs to network blue"), "{}", reports[1].1);
}

#[test]
fn a_network_of_the_same_bridge_that_comes_later_waits() {
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    cluster.network("late", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0"}}));
    cluster.settle();
    assert_eq!(cluster.condition("late", "Accepted"), "False BridgeConflict");
    assert_eq!(cluster.networks_on("node-a"), [("ovs-br0".to_owned(), Active)]);
    cluster.delete_nad("team-a", "one");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("late".to_owned(), Active)]);
}

#[test]
fn a_deleted_network_of_a_user_is_replaced_by_a_generated_one() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0"}}));
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("ovs-br0".to_owned(), Active)]);
}

#[test]
fn a_name_that_another_bridges_network_has_is_not_taken() {
    let mut cluster = Cluster::new();
    let theirs = json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br-x"}});
    cluster.network("ovs-br0", &theirs);
    cluster.nad("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0").unwrap().0, "br-x");
    assert_eq!(cluster.reports()[0].0, "team-a/one NetworkNameTaken");
}

#[test]
fn the_label_alone_does_not_make_a_network_generated() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br0"}}));
    cluster.edit("blue", |network| network.has_from_nad_label = true);
    let before = cluster.cache.networks["blue"].spec.clone();
    cluster.settle();
    assert_eq!(cluster.cache.networks["blue"].spec, before, "neither changed nor deleted");
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert_eq!(cluster.generated("blue"), ["other", "team-a"]);
}

#[test]
fn more_namespaces_than_a_selector_holds_are_reported() {
    let mut cluster = Cluster::new();
    let most = usnet_crds::network::SELECTOR_VALUES_MAX;
    for number in 0..=most {
        let namespace = format!("ns-{number}");
        cluster.namespace(&namespace, &[]);
        cluster.nad(&namespace, "net", &open_vswitch("br0").to_string());
    }
    cluster.settle();
    assert_eq!(carried(&cluster, "ovs-br0").unwrap().1.len(), most);
    let reports = cluster.reports();
    assert_eq!((reports.len(), reports[0].0.as_str()), (1, "ns-256/net TooManyNamespaces"));
}

#[test]
fn routed_memifs_are_a_network_with_the_gateway_of_their_subnet() {
    let routed = |subnet: &str| {
        let mut config = vpp("4");
        config["host"]["netType"] = "interface".into();
        config["host"]["memif"]["mode"] = "ip".into();
        config["host"]["bridge"] = json!({});
        config["ipam"] = json!({"type": "host-local", "subnet": subnet});
        config.to_string()
    };
    let mut cluster = Cluster::new();
    cluster.nad("team-a", "one", &routed("10.57.1.0/24"));
    cluster.nad("other", "two", &routed("10.57.1.0/24"));
    cluster.nad("other", "three", &routed("10.57.2.0/24"));
    cluster.settle();
    let gateways = cluster.compiled.values().map(|compiled| {
        let gateway = compiled.gateway.as_ref().unwrap();
        (gateway.addresses[0].to_string(), compiled.namespaces.names.len(), compiled.port.memif.mode)
    });
    let mut gateways: Vec<_> = gateways.collect();
    gateways.sort();
    let expected = [("10.57.1.1/24".to_owned(), 2, MemifMode::Ip), ("10.57.2.1/24".to_owned(), 1, MemifMode::Ip)];
    assert_eq!(gateways, expected);
    assert_eq!(cluster.reports(), []);
}

#[test]
fn frames_to_vpp_itself_are_a_bridged_network_with_the_gateway_of_their_subnet() {
    let interface = |name: &str, ipam: Value| {
        let mut config = vpp("4");
        config["name"] = name.into();
        config["host"]["netType"] = "interface".into();
        config["host"]["bridge"] = json!({});
        config["ipam"] = ipam;
        config.to_string()
    };
    let mut cluster = Cluster::new();
    let pool = json!({"type": "host-local", "subnet": "10.57.1.0/24"});
    cluster.nad("team-a", "one", &interface("one", pool.clone()));
    cluster.nad("other", "two", &interface("two", pool));
    // As the fork's example has it, without addresses.
    cluster.nad("other", "three", &interface("vpp-memif", json!({})));
    cluster.settle();
    let networks = cluster.compiled.values().map(|compiled| {
        let gateway = compiled.gateway.as_ref().map(|gateway| gateway.addresses[0].to_string());
        (gateway, compiled.namespaces.names.len(), compiled.port.memif.mode)
    });
    let mut networks: Vec<_> = networks.collect();
    networks.sort();
    let expected = [(None, 1, MemifMode::Ethernet), (Some("10.57.1.1/24".to_owned()), 2, MemifMode::Ethernet)];
    assert_eq!(networks, expected);
    assert_eq!(cluster.reports(), []);
}
