//! Uplinks: which networks have them, their status, and their deletion.

mod deleting;

use super::super::write::Write;
use super::model::Cluster;
use serde_json::json;
use usnet_crds::conditions::reason::{BOND_DEGRADED, NIC_CARRIES_NODE, NIC_MISSING};

/// The VLAN with which a network is compiled.
fn compiled_vlan(cluster: &Cluster, network: &str) -> Option<u16> {
    cluster.compiled[network].uplink.as_ref()?.vlan.map(usnet_crds::VlanTag::get)
}

fn message(cluster: &Cluster, network: &str) -> String {
    cluster.message(network, "Accepted")
}

/// The device of the uplink `fab` on a node.
fn device(cluster: &Cluster, node: &str) -> Option<String> {
    let uplink = cluster.agents[node].spec.uplinks.get(&"fab".parse::<usnet_crds::UplinkName>().unwrap())?;
    Some(serde_json::to_value(&uplink.nic.device).unwrap()["name"].as_str().unwrap().to_owned())
}

/// The policy that keeps an uplink goes by it.
#[test]
fn the_pods_of_all_of_its_networks_are_counted() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["100-199"]);
    cluster.network_on_uplink("blue", "fab", Some(100));
    cluster.network_on_uplink("red", "fab", Some(101));
    cluster.simple_network("other");
    for (count, expected) in [(2, 5), (0, 3)] {
        cluster.settle();
        for (node, network, count) in [("node-a", "blue", count), ("node-b", "red", 3), ("node-b", "other", 7)] {
            cluster.attach(node, network, count);
        }
        cluster.report();
        cluster.settle();
        assert_eq!(cluster.uplink_status("fab").attachments, expected);
    }
}

#[test]
fn a_network_has_its_vlan_on_every_node_of_the_uplink() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["100-199"]);
    cluster.network_on_uplink("blue", "fab", Some(142));
    cluster.settle();
    assert_eq!(compiled_vlan(&cluster, "blue"), Some(142));
    assert_eq!(cluster.compiled["blue"].bridge.mtu.get(), 1500);
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert_eq!(cluster.uplink_condition("fab", "Ready").0, "True AllNodes");
    let status = cluster.uplink_status("fab");
    assert_eq!((status.nodes.summary.as_str(), status.network_count, status.networks), ("2/2", 1, vec!["blue".into()]));
    assert_eq!(device(&cluster, "node-b").as_deref(), Some("eth1"));
}

/// It is no failure: its networks are ready.
#[test]
fn a_degraded_bond_is_a_condition_while_it_lasts() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["100-199"]);
    cluster.network_on_uplink("blue", "fab", Some(142));
    cluster.settle();
    let degraded = |cluster: &Cluster| {
        let conditions = cluster.uplink_status("fab").conditions;
        conditions.into_iter().find(|condition| condition.type_ == "Degraded").map(|it| (it.reason, it.message))
    };
    assert_eq!(degraded(&cluster), None);
    for node in ["node-a", "node-b"] {
        cluster.set_uplink_failure(node, "fab", Some(BOND_DEGRADED));
    }
    cluster.settle();
    let message = "on 2 nodes it works in part; node-a: BondDegraded of fab".to_owned();
    assert_eq!(degraded(&cluster), Some((BOND_DEGRADED.to_owned(), message)));
    assert_eq!(cluster.uplink_condition("fab", "Ready").0, "True AllNodes");
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    for node in ["node-a", "node-b"] {
        cluster.set_uplink_failure(node, "fab", None);
    }
    cluster.settle();
    assert_eq!(degraded(&cluster), None);
}

#[test]
fn without_a_selector_a_network_is_on_the_nodes_of_its_uplink() {
    let mut cluster = Cluster::new();
    let nics =
        json!([{"nodeSelector": {"matchLabels": {"host": "node-a"}}, "device": {"type": "Name", "name": "eth2"}}]);
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics, "vlans": ["100"]}));
    cluster.network_on_uplink("blue", "fab", Some(100));
    cluster.settle();
    assert_eq!(
        (cluster.status("blue").nodes.summary, cluster.uplink_status("fab").nodes.summary),
        ("1/1".into(), "1/1".into())
    );
    assert_eq!((device(&cluster, "node-a").as_deref(), device(&cluster, "node-b")), (Some("eth2"), None));
    // Another node gets a NIC.
    let nics = json!([nics[0], {"device": {"type": "Name", "name": "eth1"}}]);
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics, "vlans": ["100"]}));
    cluster.settle();
    assert_eq!(cluster.status("blue").nodes.summary, "2/2");
    assert_eq!(device(&cluster, "node-b").as_deref(), Some("eth1"));
}

#[test]
fn a_selector_that_names_a_node_without_the_uplink_fails_there() {
    let mut cluster = Cluster::new();
    let nics =
        json!([{"nodeSelector": {"matchLabels": {"host": "node-a"}}, "device": {"type": "Name", "name": "eth2"}}]);
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics}));
    let topology = json!({"type": "Uplink", "uplink": {"name": "fab"}});
    let nodes = json!({"matchLabels": {"host": "node-b"}});
    cluster.network(
        "blue",
        &json!({"engine": "OVS", "namespaceSelector": {}, "nodeSelector": nodes, "topology": topology}),
    );
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Programmed"), "False UplinkNotReady");
    let failure = cluster.status("blue").failures[0].clone();
    assert!(
        failure.node == "node-b" && failure.message.contains("no entry in spec.nics of UserspaceUplink fab"),
        "{failure:?}"
    );
}

#[test]
fn a_network_without_its_uplink_is_rejected_until_there_is_one() {
    let mut cluster = Cluster::new();
    cluster.network_on_uplink("blue", "fab", Some(142));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False UplinkMissing");
    assert!(message(&cluster, "blue").contains("there is no UserspaceUplink fab: create it"));
    assert!(cluster.compiled.is_empty());
    cluster.simple_uplink("fab", &["100-141"]);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "False VlanNotAvailable");
    let text = "spec.topology.uplink.vlan: UserspaceUplink fab has the VLANs 100-141, and not 142: set another vlan";
    assert!(message(&cluster, "blue").starts_with(text), "{}", message(&cluster, "blue"));
    cluster.simple_uplink("fab", &["100-142"]);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert!(!cluster.generated("blue").is_empty());
}

#[test]
fn an_uplink_is_for_networks_of_its_engine_and_with_a_shared_nic_for_those_with_a_vlan() {
    let mut cluster = Cluster::new();
    let nics = json!([{"device": {"type": "Name", "name": "eth0"}}]);
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics, "nodeTraffic": "Shared", "vlans": ["7"]}));
    let topology = json!({"type": "Uplink", "uplink": {"name": "fab", "vlan": 7}});
    cluster.network("vpp", &json!({"engine": "VPP", "namespaceSelector": {}, "topology": topology}));
    cluster.network_on_uplink("untagged", "fab", None);
    cluster.settle();
    assert_eq!(
        ["vpp", "untagged"].map(|name| cluster.condition(name, "Accepted")),
        ["False UplinkUnusable"; 2].map(String::from)
    );
    assert!(message(&cluster, "vpp").contains("belongs to Open vSwitch, and the network to VPP"));
    assert!(message(&cluster, "untagged").contains("untagged frames belong: set a VLAN of 7"));
    assert!(cluster.compiled.is_empty());
}

#[test]
fn of_two_networks_with_one_vlan_the_older_has_it_and_so_with_untagged_ones() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    cluster.simple_uplink("lab", &["7"]);
    for (older, younger, vlan) in [("tagged", "a-tagged", Some(7)), ("untagged", "a-untagged", None)] {
        cluster.network_on_uplink(older, "fab", vlan);
        cluster.network_on_uplink(younger, "fab", vlan);
        cluster.settle();
        assert_eq!(cluster.condition(older, "Ready"), "True AllNodes");
        assert_eq!(cluster.condition(younger, "Ready"), "False VlanTaken");
        assert_eq!(cluster.condition(younger, "Stalled"), "True VlanTaken");
        assert!(message(&cluster, younger).contains(&format!("to network {older}: set another vlan")));
    }
    // On another uplink it is another VLAN.
    cluster.network_on_uplink("elsewhere", "lab", Some(7));
    cluster.delete_network("tagged");
    cluster.settle();
    assert_eq!(
        ["elsewhere", "a-tagged"].map(|name| cluster.condition(name, "Ready")),
        ["True AllNodes"; 2].map(String::from)
    );
}

#[test]
fn a_vlan_that_nodes_still_have_is_not_free() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7-9"]);
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.network_on_uplink("red", "fab", Some(8));
    cluster.settle();
    // The edit is rejected, and nodes keep what they have.
    cluster.network_on_uplink("blue", "fab", Some(8));
    cluster.network_on_uplink("third", "fab", Some(7));
    cluster.settle();
    assert_eq!(
        ["blue", "third"].map(|name| cluster.condition(name, "Accepted")),
        ["False VlanTaken"; 2].map(String::from)
    );
    assert_eq!((compiled_vlan(&cluster, "blue"), compiled_vlan(&cluster, "red")), (Some(7), Some(8)));
}

#[test]
fn vlans_that_are_removed_under_a_network_stay_and_are_reported() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["100-199"]);
    cluster.network_on_uplink("blue", "fab", Some(142));
    cluster.attach("node-a", "blue", 1);
    cluster.settle();
    cluster.simple_uplink("fab", &["100-141"]);
    cluster.settle();
    assert_eq!(compiled_vlan(&cluster, "blue"), Some(142));
    let held = cluster.agents["node-a"].spec.networks[0].uplink.clone().unwrap();
    assert_eq!(held.vlan.unwrap().get(), 142, "its pods keep their connection");
    assert_eq!(cluster.condition("blue", "Accepted"), "False VlanNotAvailable");
    assert!(message(&cluster, "blue").ends_with("until then it stays on the nodes as it is"));
    let (condition, text) = cluster.uplink_condition("fab", "Accepted");
    assert_eq!(condition, "False VlanInUse");
    assert!(
        text.contains("1 network still use VLANs that are not in it") && text.contains("blue (VLAN 142)"),
        "{text}"
    );
    assert_eq!(cluster.uplink_condition("fab", "Stalled").0, "True VlanInUse");
    cluster.simple_uplink("fab", &["142"]);
    cluster.settle();
    assert_eq!(cluster.uplink_condition("fab", "Ready").0, "True AllNodes");
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
}

#[test]
fn failures_of_nodes_are_in_the_status_with_their_remedy() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    cluster.set_uplink_failure("node-b", "fab", Some(NIC_CARRIES_NODE));
    cluster.settle();
    let status = cluster.uplink_status("fab");
    assert_eq!((status.nodes.failed, status.nodes.summary.as_str()), (1, "1/2"));
    assert_eq!((status.failures[0].node.as_str(), status.failures[0].reason.as_str()), ("node-b", NIC_CARRIES_NODE));
    assert_eq!(
        cluster.uplink_condition("fab", "Ready"),
        (
            "False NicCarriesNode".into(),
            "programmed on 1 of 2 nodes; node node-b: NicCarriesNode: NicCarriesNode of fab".into()
        )
    );
    assert_eq!(cluster.uplink_condition("fab", "Stalled").0, "True NicCarriesNode");
    cluster.set_uplink_failure("node-b", "fab", None);
    cluster.set_uplink_failure("node-a", "fab", Some(NIC_MISSING));
    cluster.node("node-b", false);
    cluster.settle();
    let nodes = cluster.uplink_status("fab").nodes;
    assert_eq!((nodes.selected, nodes.programmed, nodes.failed, nodes.unreachable), (2, 0, 1, 1));
}

/// What agents report costs no write of a network, and one of the uplink.
#[test]
fn a_report_of_an_uplink_costs_one_status() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.settle();
    cluster.set_uplink_failure("node-b", "fab", Some(NIC_MISSING));
    cluster.report();
    let written: Vec<&str> = cluster.pass().iter().map(Write::kind).collect();
    assert_eq!(written, ["UplinkStatus"]);
}

#[test]
fn an_uplink_that_is_not_valid_says_so_and_its_networks_keep_it() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["7"]);
    cluster.network_on_uplink("blue", "fab", Some(7));
    cluster.settle();
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": [{"device": {"type": "Name"}}]}));
    cluster.settle();
    let (condition, text) = cluster.uplink_condition("fab", "Ready");
    assert!(condition == "False Invalid" && text.starts_with("spec.nics[0].device"), "{condition} {text}");
    assert_eq!(cluster.condition("blue", "Accepted"), "False UplinkUnusable");
    assert!(device(&cluster, "node-a").is_some() && compiled_vlan(&cluster, "blue") == Some(7));
}

/// An uplink whose NICs have addresses for overlays in VLAN 10.
fn with_underlay(cluster: &mut Cluster, vlans: &[&str]) {
    let nics = json!([{"device": {"type": "Name", "name": "eth1"}}]);
    let underlay = json!({"subnet": "192.168.50.0/24", "vlan": 10});
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics, "vlans": vlans, "underlay": underlay}));
}

fn overlay_of_engine(cluster: &mut Cluster, name: &str, engine: &str, family: &str) {
    let underlay = json!({"type": "Uplink", "uplink": {"name": "fab"}});
    let overlay = json!({"encapsulation": "Engine", "underlay": underlay, "ipFamily": family});
    let topology = json!({"type": "Overlay", "overlay": overlay});
    cluster.network(name, &json!({"engine": engine, "namespaceSelector": {}, "topology": topology}));
}

#[test]
fn overlays_of_the_engine_share_the_underlay_of_an_uplink() {
    let mut cluster = Cluster::new();
    with_underlay(&mut cluster, &["100"]);
    overlay_of_engine(&mut cluster, "blue", "OVS", "IPv4");
    overlay_of_engine(&mut cluster, "green", "OVS", "IPv4");
    cluster.network_on_uplink("red", "fab", Some(100));
    cluster.settle();
    for network in ["blue", "green", "red"] {
        assert_eq!(cluster.condition(network, "Ready"), "True AllNodes", "{network}");
    }
    assert_eq!(cluster.uplink_condition("fab", "Ready").0, "True AllNodes");
    assert_eq!(cluster.uplink_status("fab").networks, ["blue", "green", "red"]);
    let overlay = cluster.agents["node-b"].spec.networks[0].overlay.clone().unwrap();
    assert_eq!(overlay.local, std::net::IpAddr::from([192, 168, 50, 2]));
    assert_eq!(overlay.peers.iter().copied().collect::<Vec<_>>(), [std::net::IpAddr::from([192, 168, 50, 1])]);
}

#[test]
fn an_overlay_of_the_engine_needs_an_uplink_with_addresses_of_its_engine_and_family() {
    let mut cluster = Cluster::new();
    overlay_of_engine(&mut cluster, "blue", "OVS", "IPv4");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False UplinkMissing");
    let field = "spec.topology.overlay.underlay.uplink.name: ";
    assert!(message(&cluster, "blue").starts_with(field), "{}", message(&cluster, "blue"));
    cluster.simple_uplink("fab", &["100"]);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False UplinkUnusable");
    assert!(message(&cluster, "blue").contains("set spec.underlay of it"), "{}", message(&cluster, "blue"));
    with_underlay(&mut cluster, &["100"]);
    overlay_of_engine(&mut cluster, "six", "OVS", "IPv6");
    overlay_of_engine(&mut cluster, "vpp", "VPP", "IPv4");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("six", "Accepted"), "False UplinkUnusable");
    assert!(message(&cluster, "six").contains("ipFamily to IPv4"), "{}", message(&cluster, "six"));
    assert!(message(&cluster, "vpp").contains("belongs to Open vSwitch"), "{}", message(&cluster, "vpp"));
}

#[test]
fn the_vlan_of_an_underlay_is_no_networks() {
    let mut cluster = Cluster::new();
    with_underlay(&mut cluster, &["10-19"]);
    cluster.network_on_uplink("blue", "fab", Some(10));
    cluster.network_on_uplink("red", "fab", Some(11));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False VlanTaken");
    assert!(message(&cluster, "blue").contains("VLAN 10 belongs to the packets of overlays"));
    assert_eq!(cluster.condition("red", "Ready"), "True AllNodes");
    // A network that has the VLAN before keeps it on the nodes.
    let nics = json!([{"device": {"type": "Name", "name": "eth1"}}]);
    let underlay = json!({"subnet": "192.168.50.0/24", "vlan": 11});
    cluster.uplink("fab", &json!({"engine": "OVS", "nics": nics, "vlans": ["10-19"], "underlay": underlay}));
    cluster.settle();
    assert_eq!(cluster.condition("red", "Accepted"), "False VlanTaken");
    assert_eq!(compiled_vlan(&cluster, "red"), Some(11));
    let (accepted, text) = cluster.uplink_condition("fab", "Accepted");
    assert!(accepted == "False VlanInUse" && text.contains("red"), "{accepted}: {text}");
}
