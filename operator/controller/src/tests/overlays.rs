//! Overlays: VNIs, addresses, and the slices of nodes.

use super::super::write::Write;
use super::model::{Cluster, address_of};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::conditions::reason::VNI_TAKEN;
use usnet_crds::node_slice::SLICE_NODES_MAX;
use usnet_crds::{NodeOverlay, UdpPort, Vni};

/// A network whose overlay has these fields.
fn network(engine: &str, overlay: &Value) -> Value {
    json!({"engine": engine, "namespaceSelector": {}, "topology": {"type": "Overlay", "overlay": overlay}})
}

fn compiled_vni(cluster: &Cluster, network: &str) -> u32 {
    cluster.compiled[network].overlay.as_ref().unwrap().vni.get()
}

fn status_vni(cluster: &Cluster, network: &str) -> Option<u32> {
    cluster.status(network).overlay.map(|overlay| overlay.vni.get())
}

fn default_vni(network: &str) -> u32 {
    Vni::default_for(&network.parse().unwrap()).get()
}

/// The overlay of a network on a node.
fn on_node(cluster: &Cluster, node: &str, network: &str) -> Option<NodeOverlay> {
    let networks = &cluster.agents[node].spec.networks;
    networks.iter().find(|it| it.name.as_str() == network)?.overlay.clone()
}

/// What a change costs: the kinds of all writes until nothing changes any more.
fn writes(cluster: &mut Cluster) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    loop {
        let written = cluster.pass();
        cluster.report();
        if written.is_empty() && cluster.pass().is_empty() {
            return kinds;
        }
        kinds.extend(written.iter().map(Write::kind));
    }
}

fn slice_writes(cluster: &mut Cluster) -> usize {
    writes(cluster).into_iter().filter(|kind| kind.ends_with("NodeSlice")).count()
}

#[test]
fn a_vni_is_chosen_kept_and_reported() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &network("OVS", &json!({})));
    cluster.settle();
    let expected = default_vni("blue");
    assert_eq!((compiled_vni(&cluster, "blue"), status_vni(&cluster, "blue")), (expected, Some(expected)));
    assert_eq!(cluster.compiled["blue"].overlay.as_ref().unwrap().port, UdpPort::default());
    assert_eq!(cluster.compiled["blue"].bridge.mtu.get(), 1450);
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}}));
    cluster.settle();
    assert_eq!((cluster.compiled["blue"].overlay.clone(), status_vni(&cluster, "blue")), (None, None));
    assert_eq!(cluster.compiled["blue"].bridge.mtu.get(), 1500);
}

#[test]
fn a_chosen_vni_avoids_the_others_and_outlives_them_and_its_compiled_network() {
    let mut cluster = Cluster::new();
    let first = default_vni("blue");
    cluster.network("red", &network("OVS", &json!({"vni": first})));
    cluster.network("blue", &network("VPP", &json!({})));
    cluster.network("green", &network("VPP", &json!({"vni": first, "port": 8472})));
    cluster.settle();
    assert_eq!(["red", "blue", "green"].map(|it| compiled_vni(&cluster, it)), [first, first + 1, first]);
    cluster.delete_network("red");
    cluster.settle();
    cluster.compiled.remove("blue");
    cluster.cache.compiled.remove("blue");
    cluster.settle();
    assert_eq!((compiled_vni(&cluster, "blue"), status_vni(&cluster, "blue")), (first + 1, Some(first + 1)));
}

#[test]
fn of_two_networks_with_one_vni_the_older_has_it() {
    let mut cluster = Cluster::new();
    cluster.network("older", &network("OVS", &json!({"vni": 7})));
    cluster.network("a-younger", &network("OVS", &json!({"vni": 7})));
    cluster.settle();
    assert_eq!(cluster.condition("older", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("a-younger", "Accepted"), "False VniTaken");
    assert_eq!(cluster.condition("a-younger", "Stalled"), "True VniTaken");
    let message = cluster.message("a-younger", "Ready");
    let text = "spec.topology.overlay.vni: VNI 7 at UDP port 4789 already belongs to network older: ";
    assert!(message.starts_with(text), "{message}");
    assert!(!cluster.compiled.contains_key("a-younger") && cluster.generated("a-younger").is_empty());
    cluster.delete_network("older");
    cluster.settle();
    assert_eq!(cluster.condition("a-younger", "Ready"), "True AllNodes");
    assert!(!cluster.generated("a-younger").is_empty());
}

#[test]
fn an_edit_to_a_vni_that_is_taken_changes_nothing_on_nodes() {
    let mut cluster = Cluster::new();
    cluster.network("older", &network("OVS", &json!({"vni": 7})));
    cluster.network("younger", &network("OVS", &json!({"vni": 8})));
    cluster.settle();
    cluster.network("older", &network("OVS", &json!({"vni": 8})));
    cluster.settle();
    assert_eq!(cluster.condition("older", "Accepted"), "False VniTaken");
    assert_eq!((compiled_vni(&cluster, "older"), status_vni(&cluster, "older")), (7, Some(7)));
    assert_eq!(cluster.condition("younger", "Ready"), "True AllNodes");
    // What nodes still have is not free.
    cluster.network("third", &network("OVS", &json!({"vni": 7})));
    cluster.settle();
    assert_eq!(cluster.condition("third", "Accepted"), "False VniTaken");
}

#[test]
fn networks_of_two_engines_are_one_segment_if_users_say_so() {
    let mut cluster = Cluster::new();
    cluster.network("with-ovs", &network("OVS", &json!({"vni": 7})));
    cluster.network("with-vpp", &network("VPP", &json!({"vni": 7})));
    cluster.settle();
    assert_eq!(["with-ovs", "with-vpp"].map(|it| compiled_vni(&cluster, it)), [7, 7]);
    cluster.network("third", &network("VPP", &json!({"vni": 7})));
    cluster.settle();
    assert!(cluster.message("third", "Accepted").contains("belongs to network with-vpp"));
}

/// They are on different nodes, and each node sends to all of them.
#[test]
fn networks_of_two_engines_with_one_vni_on_different_nodes_are_accepted_and_are_peers() {
    let mut cluster = Cluster::new();
    cluster.node("node-c", true);
    for (engine, operator) in [("OVS", "NotIn"), ("VPP", "In")] {
        let mut spec = network(engine, &json!({"vni": 7}));
        spec["nodeSelector"] =
            json!({"matchExpressions": [{"key": "host", "operator": operator, "values": ["node-b"]}]});
        cluster.network(&format!("with-{}", engine.to_lowercase()), &spec);
    }
    cluster.settle();
    for (network, nodes) in [("with-ovs", "2/2"), ("with-vpp", "1/1")] {
        assert_eq!(cluster.condition(network, "Ready"), "True AllNodes");
        assert_eq!(cluster.status(network).nodes.summary, nodes);
    }
    let peers =
        |node: &str, network: &str| on_node(&cluster, node, network).unwrap().peers.iter().copied().collect::<Vec<_>>();
    assert_eq!(peers("node-a", "with-ovs"), ["node-b", "node-c"].map(address_of));
    assert_eq!(peers("node-b", "with-vpp"), ["node-a", "node-c"].map(address_of));
    assert_eq!(on_node(&cluster, "node-b", "with-ovs"), None);
}

/// What an agent reports of the second network on a node reaches its conditions with the node.
#[test]
fn a_node_that_both_networks_of_a_segment_select_is_named() {
    let mut cluster = Cluster::new();
    cluster.network("with-ovs", &network("OVS", &json!({"vni": 7})));
    cluster.network("with-vpp", &network("VPP", &json!({"vni": 7})));
    cluster.failures.insert(("node-b".to_owned(), "with-vpp".to_owned()), VNI_TAKEN);
    cluster.settle();
    assert_eq!(cluster.condition("with-ovs", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("with-vpp", "Programmed"), "False VniTaken");
    assert!(cluster.message("with-vpp", "Ready").contains("node node-b: VniTaken"));
    assert_eq!(cluster.status("with-vpp").failures[0].node, "node-b");
}

#[test]
fn over_ipv6_the_mtu_is_smaller_and_nodes_send_between_their_addresses_of_ipv6() {
    let mut cluster = Cluster::new();
    let of_v6 = |node: &str| format!("fd00::{}", node.len()).parse::<IpAddr>().unwrap();
    for node in ["node-a", "node-bb"] {
        cluster.addresses.insert(node.to_owned(), vec![address_of(node), of_v6(node)]);
        cluster.node(node, true);
    }
    cluster.cache.nodes.remove("node-b");
    cluster.network("blue", &network("OVS", &json!({"ipFamily": "IPv6"})));
    cluster.settle();
    assert_eq!(cluster.compiled["blue"].bridge.mtu.get(), 1430);
    let overlay = on_node(&cluster, "node-a", "blue").unwrap();
    assert_eq!((overlay.local, overlay.peers), (of_v6("node-a"), Arc::new([of_v6("node-bb")].into())));
}

#[test]
fn with_more_than_250_nodes_a_multicast_group_is_required_and_nothing_changes_until_there_is_one() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &network("OVS", &json!({})));
    let mut few = network("OVS", &json!({}));
    few["nodeSelector"] = json!({"matchLabels": {"host": "node-a"}});
    cluster.network("few", &few);
    for number in 0..248 {
        let name = format!("node-{number}");
        cluster.addresses.insert(name.clone(), vec![[10, 1, 0, number].into()]);
        cluster.node(&name, true);
    }
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    cluster.addresses.insert("node-z".to_owned(), vec![[10, 1, 1, 0].into()]);
    cluster.node("node-z", true);
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False MulticastGroupRequired");
    assert_eq!(cluster.condition("few", "Ready"), "True AllNodes");
    let message = cluster.message("blue", "Accepted");
    let text = "spec.topology.overlay.multicastGroup: the overlay has 251 nodes, and with more than 250 each";
    assert!(message.starts_with(text), "{message}");
    assert_eq!(on_node(&cluster, "node-a", "blue").unwrap().peers.len(), 250, "what there is goes on");
    cluster.network("blue", &network("OVS", &json!({"multicastGroup": "239.1.1.1"})));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    let overlay = on_node(&cluster, "node-z", "blue").unwrap();
    assert_eq!((overlay.multicast_group, overlay.peers.len()), (Some([239, 1, 1, 1].into()), 0));

    cluster.network("blue", &network("OVS", &json!({})));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False MulticastGroupRequired");
    cluster.cache.nodes.remove("node-z");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
}

#[test]
fn host_local_needs_a_part_for_each_node_of_an_overlay() {
    let mut cluster = Cluster::new();
    let with_ipam = |ipam: Value| {
        let mut spec = network("OVS", &json!({}));
        spec["ipam"] = ipam;
        spec
    };
    cluster.network("blue", &with_ipam(json!({"type": "host-local", "subnet": "10.1.0.0/16"})));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Accepted"), "False AddressesNotUnique");
    let message = cluster.message("blue", "Accepted");
    assert!(["nodePrefix", "whereabouts", "attachments"].iter().all(|remedy| message.contains(remedy)), "{message}");
    assert!(!cluster.compiled.contains_key("blue"));
    for accepted in [
        json!({"type": "host-local", "subnet": "10.1.0.0/16", "nodePrefix": {"ipv4": 24}}),
        json!({"type": "whereabouts", "range": "10.1.0.0/16"}),
        json!({"type": "static", "addresses": [{"address": "10.1.0.5/16"}]}),
    ] {
        cluster.network("blue", &with_ipam(accepted));
        cluster.settle();
        assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
        let ipam = cluster.compiled["blue"].ipam.clone().unwrap();
        assert_eq!(ipam.get("nodePrefix"), None, "no IPAM plugin knows it");
    }
    cluster.network(
        "blue",
        &with_ipam(json!({"type": "host-local", "subnet": "10.1.0.0/16", "nodePrefix": {"ipv4": 24}})),
    );
    cluster.settle();
    assert_eq!(cluster.message("blue", "Accepted"), "the spec breaks no rule and conflicts with nothing");
    for (node, start) in [("node-a", "10.1.0.2"), ("node-b", "10.1.1.0")] {
        let network = cluster.agents[node].spec.networks[0].clone();
        assert_eq!(network.ipam.as_ref().unwrap()["ranges"][0][0]["rangeStart"], start, "{node}");
    }
}

#[test]
fn peers_are_the_other_nodes() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &network("OVS", &json!({})));
    let mut racked = network("OVS", &json!({}));
    racked["nodeSelector"] = json!({"matchExpressions": [{"key": "host", "operator": "NotIn", "values": ["node-b"]}]});
    cluster.network("red", &racked);
    cluster.node("node-c", true);
    cluster.settle();
    let peers = |node: &str, network: &str| {
        let overlay = on_node(&cluster, node, network).unwrap();
        assert_eq!(overlay.local, address_of(node));
        overlay.peers.iter().copied().collect::<Vec<_>>()
    };
    assert_eq!(peers("node-a", "blue"), ["node-b", "node-c"].map(address_of));
    assert_eq!(peers("node-a", "red"), [address_of("node-c")]);
    assert_eq!(on_node(&cluster, "node-b", "red"), None);
}

#[test]
fn without_an_overlay_there_are_no_slices() {
    let mut cluster = Cluster::new();
    cluster.simple_network("plain");
    cluster.settle();
    assert!(cluster.slices.is_empty());
    cluster.network("blue", &network("OVS", &json!({})));
    assert_eq!(slice_writes(&mut cluster), 1);
    assert_eq!(cluster.slices["nodes-0"].nodes.len(), 2);
    cluster.delete_network("blue");
    assert_eq!(slice_writes(&mut cluster), 1);
    assert!(cluster.slices.is_empty());
}

#[test]
fn a_node_that_joins_costs_one_write_of_a_slice_and_none_of_networks() {
    let mut cluster = Cluster::new();
    for name in ["blue", "red", "green"] {
        cluster.network(name, &network("OVS", &json!({})));
    }
    cluster.settle();
    cluster.node("node-c", true);
    let mut kinds = writes(&mut cluster);
    kinds.retain(|kind| *kind != "Status");
    assert_eq!(kinds, ["NodeState", "NodeSlice"]);
    cluster.cache.nodes.remove("node-c");
    let mut kinds = writes(&mut cluster);
    kinds.retain(|kind| *kind != "Status");
    kinds.sort_unstable();
    assert_eq!(kinds, ["DeleteNodeState", "NodeSlice"]);
}

#[test]
fn only_what_overlays_use_of_a_node_is_written() {
    let mut cluster = Cluster::new();
    let mut racked = network("OVS", &json!({}));
    racked["nodeSelector"] = json!({"matchLabels": {"rack": "a"}});
    cluster.network("blue", &racked);
    cluster.settle();
    let label = |cluster: &mut Cluster, key: &str, value: &str| {
        cluster.cache.nodes.get_mut("node-a").unwrap().labels.insert(key.to_owned(), value.to_owned());
        slice_writes(cluster)
    };
    assert_eq!(label(&mut cluster, "uptime", "3"), 0, "no overlay selects by it");
    assert_eq!(label(&mut cluster, "rack", "a"), 1);
    assert_eq!(cluster.slices["nodes-0"].nodes[0].labels, [("rack".to_owned(), "a".to_owned())].into());
    cluster.node("node-b", false);
    assert_eq!(slice_writes(&mut cluster), 0, "a node that is not ready stays a peer");
    cluster.addresses.insert("node-b".to_owned(), vec![[10, 9, 9, 9].into()]);
    cluster.node("node-b", true);
    assert_eq!(slice_writes(&mut cluster), 1);
    racked["nodeSelector"] = json!({"matchLabels": {"uptime": "3"}});
    cluster.network("blue", &racked);
    cluster.settle();
    assert_eq!(cluster.slices["nodes-0"].nodes[0].labels, [("uptime".to_owned(), "3".to_owned())].into());
}

#[test]
fn a_slice_has_no_more_than_a_hundred_nodes() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &network("OVS", &json!({})));
    for number in 0..248 {
        cluster.node(&format!("node-{number}"), true);
    }
    cluster.settle();
    let sizes: Vec<usize> = cluster.slices.values().map(|slice| slice.nodes.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
    assert!(sizes.iter().all(|size| *size <= SLICE_NODES_MAX as usize));
}

#[test]
fn a_node_without_an_address_reports_it_and_the_others_work() {
    let mut cluster = Cluster::new();
    cluster.addresses.insert("node-b".to_owned(), Vec::new());
    cluster.node("node-b", true);
    cluster.network("blue", &network("OVS", &json!({})));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Programmed"), "False PeersUnknown");
    let message = cluster.message("blue", "Ready");
    assert!(message.contains("node node-b: PeersUnknown: the overlay runs between InternalIPs of IPv4"), "{message}");
    assert_eq!(cluster.condition("blue", "Reconciling"), "True PeersUnknown", "no operator has to act on usnet");
    assert_eq!(on_node(&cluster, "node-a", "blue").unwrap().peers.len(), 0);
}
