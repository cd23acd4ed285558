use super::*;
use crate::model::input::NodeAddresses;
use crate::model::spec::NodeSpec;
use crate::selection::select::{Facts, select};
use crate::selection::testing::{compiled, input_of};
use crate::testing::name;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_crds::network::ipam::node_prefix::NodePrefix;
use usnet_crds::node_slice::SliceNode;
use usnet_crds::uplink::underlay::UplinkUnderlay;
use usnet_crds::{Encapsulation, IpFamily};

const OWN: &str = "node-a";

fn overlay() -> CompiledOverlay {
    CompiledOverlay {
        vni: 5001.try_into().unwrap(),
        port: 4789.try_into().unwrap(),
        ip_family: IpFamily::V4,
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        multicast_group: None,
    }
}

/// A network with an overlay between the nodes of a rack, or between all.
fn joined(version: u64, network: &str, rack: Option<&str>) -> Compiled {
    let selector =
        rack.map(|rack| kube::core::Selector::from(kube::core::Expression::Equal("rack".into(), rack.into())));
    let per_node = PerNode { overlay: Some(overlay()), node_prefix: None };
    Compiled { selector, per_node, ..compiled(version, network) }
}

/// A network with an overlay in a segment of its own.
fn in_segment(version: u64, network: &str, rack: Option<&str>, segment: CompiledOverlay) -> Compiled {
    let per_node = PerNode { overlay: Some(segment), node_prefix: None };
    Compiled { per_node, ..joined(version, network, rack) }
}

/// A network of which each node has 256 addresses.
fn divided(version: u64, network: &str, subnet: &str) -> Compiled {
    let plain = compiled(version, network);
    let ipam = Some(json!({"type": "host-local", "ranges": [[{"subnet": subnet}]]}));
    let network = Arc::new(NodeNetwork { ipam, ..NodeNetwork::clone(&plain.network) });
    let prefix = NodePrefix { ipv4: Some(24.try_into().unwrap()), ipv6: None };
    Compiled { network, per_node: PerNode { overlay: None, node_prefix: Some(prefix) }, ..plain }
}

/// Nodes by name, each with its address and rack.
fn nodes(nodes: &[(&str, &str, &str)]) -> Option<Arc<NodeAddresses>> {
    let node = |(name, address, rack): &(&str, &str, &str)| {
        let labels = [("rack".to_owned(), (*rack).to_owned())].into();
        let addresses = address.parse().into_iter().collect();
        ((*name).to_owned(), SliceNode { name: (*name).to_owned(), number: 0, addresses, labels })
    };
    let mut nodes: BTreeMap<String, SliceNode> = nodes.iter().map(node).collect();
    nodes.values_mut().zip(0..).for_each(|(node, number)| node.number = number);
    Some(Arc::new(NodeAddresses { own: OWN.to_owned(), nodes }))
}

fn input(networks: &[Compiled]) -> Input {
    let three = nodes(&[(OWN, "10.0.0.1", "a"), ("node-b", "10.0.0.2", "b"), ("node-c", "10.0.0.3", "a")]);
    Input { labels: [("rack".to_owned(), "a".to_owned())].into(), nodes: three, ..input_of(networks) }
}

fn select_with(input: &Input, previous: &NodeSpec) -> NodeSpec {
    let nothing = BTreeSet::new();
    let per_node = &PerNodeNetworks::of(input);
    select(Facts { input, missing: &BTreeSet::new(), previous, in_use: &nothing, lost: &nothing, per_node })
}

fn peers(spec: &NodeSpec, network: &str) -> Vec<IpAddr> {
    spec.network(&name(network)).unwrap().overlay.as_ref().unwrap().peers.iter().copied().collect()
}

/// The reasons why the node cannot have networks.
fn refused(spec: &NodeSpec) -> Vec<(String, String)> {
    spec.refused.iter().map(|refused| (refused.name.to_string(), refused.reason.clone())).collect()
}

#[test]
fn the_other_nodes_that_a_network_selects_are_its_peers() {
    let other = CompiledOverlay { vni: 5002.try_into().unwrap(), ..overlay() };
    let networks = [joined(1, "all", None), in_segment(2, "rack", Some("a"), other.clone())];
    let spec = select_with(&input(&networks), &NodeSpec::default());
    let expected = NodeOverlay {
        vni: other.vni,
        port: other.port,
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        local: [10, 0, 0, 1].into(),
        multicast_group: None,
        peers: Arc::new([[10, 0, 0, 3].into()].into()),
    };
    assert_eq!(spec.network(&name("rack")).unwrap().overlay, Some(expected));
    assert_eq!(peers(&spec, "all"), [IpAddr::from([10, 0, 0, 2]), [10, 0, 0, 3].into()]);
}

/// One network for each engine, which a node selector keeps on different nodes.
#[test]
fn the_nodes_of_all_networks_with_one_vni_are_peers() {
    let (ovs, vpp) = (joined(1, "ovs", Some("a")), joined(2, "vpp", Some("b")));
    let spec = select_with(&input(&[ovs.clone(), vpp]), &NodeSpec::default());
    assert_eq!(peers(&spec, "ovs"), [IpAddr::from([10, 0, 0, 2]), [10, 0, 0, 3].into()]);
    let other_port = CompiledOverlay { port: 8472.try_into().unwrap(), ..overlay() };
    let spec = select_with(&input(&[ovs, in_segment(2, "vpp", Some("b"), other_port)]), &NodeSpec::default());
    assert_eq!(peers(&spec, "ovs"), [IpAddr::from([10, 0, 0, 3])]);
}

#[test]
fn an_overlay_runs_between_addresses_of_its_family() {
    let of_v6 = CompiledOverlay { ip_family: IpFamily::V6, ..overlay() };
    let mut input = input(&[in_segment(1, "blue", None, of_v6)]);
    let message = select_with(&input, &NodeSpec::default()).refused[0].message.clone();
    assert!(message.contains("InternalIPs of IPv6") && message.contains("ipFamily to IPv4"), "{message}");
    let mut all = NodeAddresses::clone(input.nodes.as_ref().unwrap());
    for (number, node) in (1..).zip(all.nodes.values_mut()) {
        node.addresses.push(format!("fd00::{number}").parse().unwrap());
    }
    input.nodes = Some(Arc::new(all));
    let spec = select_with(&input, &NodeSpec::default());
    assert_eq!(spec.networks[0].overlay.as_ref().unwrap().local, IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 1]));
    assert_eq!(peers(&spec, "blue"), ["fd00::2", "fd00::3"].map(|text| text.parse::<IpAddr>().unwrap()));
}

/// The uplink `fab`, with a NIC for the nodes of a rack or for all.
fn fab(rack: Option<&str>, subnet: &str) -> (usnet_crds::UplinkName, Arc<usnet_crds::ValidUplink>) {
    let mut uplink = crate::selection::testing::uplink("fab", 1, rack, "eth1");
    let vlan = usnet_crds::VlanTag::try_from(10).ok();
    uplink.underlay = Some(UplinkUnderlay { subnet: subnet.parse().unwrap(), vlan });
    (uplink.name.clone(), Arc::new(uplink))
}

fn of_engine() -> CompiledOverlay {
    CompiledOverlay { encapsulation: Encapsulation::Engine, underlay: "fab".parse().ok(), ..overlay() }
}

fn underlay_of(spec: &NodeSpec) -> (IpAddr, NodeUnderlay) {
    let overlay = spec.networks[0].overlay.clone().unwrap();
    (overlay.local, overlay.underlay.unwrap())
}

#[test]
fn an_overlay_of_the_engine_runs_between_addresses_that_follow_from_the_numbers_of_nodes() {
    let mut input = input(&[in_segment(1, "blue", None, of_engine())]);
    input.uplinks = Some([fab(None, "192.168.50.0/24")].into());
    let spec = select_with(&input, &NodeSpec::default());
    let underlay = NodeUnderlay {
        uplink: "fab".parse().unwrap(),
        vlan: usnet_crds::VlanTag::try_from(10).ok(),
        prefix_length: 24,
    };
    assert_eq!(underlay_of(&spec), ([192, 168, 50, 1].into(), underlay));
    assert_eq!(peers(&spec, "blue"), [IpAddr::from([192, 168, 50, 2]), [192, 168, 50, 3].into()]);
    assert_eq!(spec.uplinks.keys().map(ToString::to_string).collect::<Vec<_>>(), ["fab"]);
    // Without a selector, the NICs of the uplink say which nodes have it.
    input.uplinks = Some([fab(Some("a"), "192.168.50.0/24")].into());
    assert_eq!(peers(&select_with(&input, &spec), "blue"), [IpAddr::from([192, 168, 50, 3])]);
}

#[test]
fn a_node_beyond_the_subnet_says_so_and_the_others_do_not_send_to_it() {
    let mut input = input(&[in_segment(1, "blue", None, of_engine())]);
    input.uplinks = Some([fab(None, "192.168.50.0/30")].into());
    let spec = select_with(&input, &NodeSpec::default());
    assert_eq!(peers(&spec, "blue"), [IpAddr::from([192, 168, 50, 2])], "node-c has the number 2");
    let mut nodes = NodeAddresses::clone(input.nodes.as_ref().unwrap());
    nodes.own = "node-c".to_owned();
    input.nodes = Some(Arc::new(nodes));
    let refused = select_with(&input, &NodeSpec::default()).refused.remove(0);
    assert_eq!(refused.reason, "UnderlayExhausted");
    for part in ["node-c", "number 2", "192.168.50.0/30", "larger subnet"] {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
}

#[test]
fn what_is_missing_of_an_uplink_is_said_and_an_overlay_that_works_stays() {
    let mut input = input(&[in_segment(1, "blue", None, of_engine())]);
    input.uplinks = Some([fab(None, "192.168.50.0/24")].into());
    let before = select_with(&input, &NodeSpec::default());
    let without = fab(None, "192.168.50.0/24");
    let without = usnet_crds::ValidUplink { underlay: None, ..usnet_crds::ValidUplink::clone(&without.1) };
    let uplinks: [(Option<BTreeMap<_, _>>, &str); 3] = [
        (None, "have not been read"),
        (Some(BTreeMap::new()), "there is no UserspaceUplink fab"),
        (Some([(without.name.clone(), Arc::new(without))].into()), "has no addresses for overlays"),
    ];
    for (uplinks, text) in uplinks {
        input.uplinks = uplinks;
        let new = select_with(&input, &NodeSpec::default());
        assert_eq!(refused(&new), [("blue".to_owned(), "UplinkNotReady".to_owned())]);
        assert!(new.refused[0].message.contains(text), "{}", new.refused[0].message);
        let kept = select_with(&input, &before);
        assert_eq!((&kept.networks, kept.refused.len()), (&before.networks, 0), "{text}");
    }
}

/// Nothing of other nodes is known or needed then.
#[test]
fn with_a_multicast_group_a_node_that_joins_changes_no_network() {
    let group = Some([239, 1, 1, 1].into());
    let segment = CompiledOverlay { multicast_group: group, ..overlay() };
    let mut input = input(&[in_segment(1, "blue", None, segment)]);
    let before = select_with(&input, &NodeSpec::default());
    let overlay = before.networks[0].overlay.as_ref().unwrap();
    assert_eq!((overlay.multicast_group, overlay.local, overlay.peers.len()), (group, [10, 0, 0, 1].into(), 0));
    input.nodes = nodes(&[(OWN, "10.0.0.1", "a"), ("node-z", "10.0.0.26", "a")]);
    let after = select_with(&input, &before);
    assert_eq!(after.networks, before.networks);
}

/// The nodes of the other network would assign it a second time.
#[test]
fn an_address_for_one_pod_of_a_network_is_in_no_part_of_the_other_of_its_segment() {
    let divided = |name: &str, rack: &str, attachments: serde_json::Value| {
        let mut compiled = joined(1, name, Some(rack));
        let plain = divided(1, name, "10.1.0.0/16");
        compiled.per_node.node_prefix = plain.per_node.node_prefix;
        let attachments = serde_json::from_value(attachments).unwrap();
        compiled.network = Arc::new(NodeNetwork { attachments, ..NodeNetwork::clone(&plain.network) });
        compiled
    };
    let fixed = json!([{"namespace": "default", "pod": "one", "ips": ["10.1.0.7/16"]}]);
    let both = input(&[divided("ovs", "a", json!([])), divided("vpp", "b", fixed)]);
    let spec = select_with(&both, &NodeSpec::default());
    let ranges = &spec.networks[0].ipam.as_ref().unwrap()["ranges"][0];
    assert_eq!((&ranges[0]["rangeEnd"], &ranges[1]["rangeStart"]), (&json!("10.1.0.6"), &json!("10.1.0.8")));
}

#[test]
fn without_addresses_the_network_is_refused_and_says_which_are_missing() {
    let mut input = input(&[joined(1, "all", None), compiled(2, "plain")]);
    for (nodes, text) in [
        (None, "the addresses of the nodes are not known yet"),
        (nodes(&[("node-b", "10.0.0.2", "b")]), "this node is in no UserspaceNodeSlice"),
        (nodes(&[(OWN, "fd00::1", "a")]), "the overlay runs between InternalIPs of IPv4, and this Node has none"),
    ] {
        input.nodes = nodes;
        let spec = select_with(&input, &NodeSpec::default());
        assert_eq!(refused(&spec), [("all".to_owned(), "PeersUnknown".to_owned())]);
        assert!(spec.refused[0].message.starts_with(text), "{}", spec.refused[0].message);
        assert_eq!(spec.networks.len(), 1, "the other network is on the node");
    }
}

/// After a restart of the agent, and while slices are missing.
#[test]
fn a_node_keeps_its_peers_while_they_are_not_known() {
    let known = input(&[joined(1, "all", None)]);
    let before = select_with(&known, &NodeSpec::default());
    let unknown = Input { nodes: None, ..known.clone() };
    let kept = select_with(&unknown, &before);
    assert!(Arc::ptr_eq(&kept.networks[0], &before.networks[0]) && kept.refused.is_empty());

    let moved = CompiledOverlay { vni: 7.try_into().unwrap(), ..overlay() };
    let mut other = joined(3, "all", None);
    other.per_node.overlay = Some(moved.clone());
    let other = Input { networks: [(name("all"), Arc::new(other))].into(), ..unknown };
    let spec = select_with(&other, &before);
    assert_eq!(refused(&spec), [("all".to_owned(), "PeersUnknown".to_owned())]);
    assert_eq!(spec.networks, before.networks, "it stays as it was, and reports why");
    assert_eq!(select_with(&other, &spec), spec);
    let arrived = Input { nodes: known.nodes, ..other };
    let spec = select_with(&arrived, &spec);
    assert_eq!(spec.networks[0].overlay.as_ref().map(|overlay| overlay.vni), Some(moved.vni));
}

#[test]
fn the_part_of_the_node_is_what_the_plugin_assigns_from() {
    let mut input = input(&[divided(1, "blue", "10.1.0.0/16")]);
    input.number = 3;
    let spec = select_with(&input, &NodeSpec::default());
    let range = json!({"subnet": "10.1.0.0/16", "rangeStart": "10.1.3.0", "rangeEnd": "10.1.3.255"});
    assert_eq!(spec.networks[0].ipam, Some(json!({"type": "host-local", "ranges": [[range]]})));
    input.number = 256;
    let spec = select_with(&input, &NodeSpec::default());
    assert_eq!(refused(&spec), [("blue".to_owned(), "NodePrefixExhausted".to_owned())]);
    assert!(spec.refused[0].message.contains("the number 256"), "{}", spec.refused[0].message);
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Network(usize, Option<(Option<bool>, bool)>),
    Node(usize, Option<(u8, bool)>),
    Nodes(bool),
    Number(u32),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let network = prop::option::of((prop::option::of(any::<bool>()), any::<bool>()));
    let change = prop_oneof![
        (0..3usize, network).prop_map(|(index, network)| Change::Network(index, network)),
        (0..4usize, prop::option::of((0..4u8, any::<bool>()))).prop_map(|(index, node)| Change::Node(index, node)),
        any::<bool>().prop_map(Change::Nodes),
        (0..3u32).prop_map(Change::Number),
    ];
    prop::collection::vec(change, 1..20)
}

fn rack(is_a: bool) -> &'static str {
    if is_a { "a" } else { "b" }
}

fn perform(input: &mut Input, known: &mut BTreeMap<String, SliceNode>, change: Change) {
    match change {
        Change::Network(index, None) => drop(input.networks.remove(&name(["x", "y", "z"][index]))),
        Change::Network(index, Some((selected, is_divided))) => {
            let network = ["x", "y", "z"][index];
            let mut compiled = divided(1, network, "10.1.0.0/23");
            if !is_divided {
                compiled = joined(1, network, selected.map(rack));
            }
            input.networks.insert(name(network), Arc::new(compiled));
        }
        Change::Node(index, node) => {
            let name = format!("node-{}", ["a", "b", "c", "d"][index]);
            known.remove(&name);
            if let Some((host, is_a)) = node {
                let address = format!("10.0.0.{host}");
                let all = nodes(&[(&name, &address, rack(is_a))]).unwrap();
                known.extend(all.nodes.clone());
            }
            input.nodes = Some(Arc::new(NodeAddresses { own: OWN.to_owned(), nodes: known.clone() }));
        }
        Change::Nodes(true) => {
            input.nodes = Some(Arc::new(NodeAddresses { own: OWN.to_owned(), nodes: known.clone() }));
        }
        Change::Nodes(false) => input.nodes = None,
        Change::Number(number) => input.number = number,
    }
}

proptest! {
    #[test]
    fn what_follows_from_changes_is_what_follows_from_the_whole(changes in changes()) {
        let (mut input, mut known) = (Input::default(), BTreeMap::new());
        let mut followed = PerNodeNetworks::default();
        for change in changes {
            perform(&mut input, &mut known, change);
            followed.update(&input);
            let whole = PerNodeNetworks::of(&input);
            for compiled in input.networks.values() {
                prop_assert_eq!(followed.network(compiled, None), whole.network(compiled, None));
            }
            prop_assert_eq!(followed.networks.len(), whole.networks.len());
        }
    }
}

#[test]
fn what_did_not_change_stays_the_same_in_memory() {
    let mut input = input(&[joined(1, "rack", Some("a"))]);
    let mut followed = PerNodeNetworks::of(&input);
    let network = |followed: &PerNodeNetworks| followed.network(&joined(1, "rack", Some("a")), None).unwrap();
    let before = network(&followed);
    let far = ("node-d", "10.0.0.4", "b");
    input.nodes = nodes(&[(OWN, "10.0.0.1", "a"), ("node-b", "10.0.0.2", "b"), ("node-c", "10.0.0.3", "a"), far]);
    followed.update(&input);
    assert!(Arc::ptr_eq(&before, &network(&followed)), "the node that joined is no peer");
}
