//! Networks that the switch encapsulates itself: a tunnel to each peer, over the NIC of an uplink.

use super::uplinks::{NIC, UPLINK_BRIDGE, broadcast, ip, nic_index, number, start};
use super::{OneSwitch, vsctl};
use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, observe, port_name, tag};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{Encapsulation, EngineKind, MacAddress, NodeNetwork, NodeOverlay, NodeUnderlay};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::ElementState;
use usnet_dataplane::owner::NetworkTunnel;
use usnet_dataplane::plan::{Op, diff, has_port};
use usnet_dataplane::port::{DeviceName, PortName};
use usnet_dataplane::underlay::{DesiredTunnels, UplinkAddress};
use usnet_dataplane::uplink::{DesiredNic, DesiredUplink};

const MAC: &str = "02:00:00:00:05:01";

fn address(last: u8) -> IpAddr {
    [192, 168, 50, last].into()
}

fn overlay(switch: &OneSwitch, name: &str, vni: i64, peers: &[u8]) -> NodeNetwork {
    let uplink = "fab".parse().expect("a name");
    let overlay = NodeOverlay {
        vni: vni.try_into().expect("a VNI"),
        port: 4789.try_into().expect("a port"),
        encapsulation: Encapsulation::Engine,
        underlay: Some(NodeUnderlay { uplink, vlan: Some(tag(10)), prefix_length: 24 }),
        local: address(1),
        multicast_group: None,
        peers: Arc::new(peers.iter().map(|last| address(*last)).collect()),
    };
    NodeNetwork { overlay: Some(overlay), ..switch.network(name) }
}

/// These networks, each with a pod of its name.
fn desired(switch: &OneSwitch, networks: &[NodeNetwork]) -> Desired {
    let tunnels: Vec<_> = networks.iter().filter_map(DesiredTunnels::of).collect();
    let nic = Some(DesiredNic::kernel(&DeviceName::observed(NIC), nic_index(switch), [2, 0, 0, 0, 0, 1]));
    let (name, vlans) = ("fab".parse().expect("a name"), tunnels.iter().map(|tunnels| tunnels.vlan));
    let mac: Option<MacAddress> = MAC.parse().ok();
    let address = tunnels.first().map(|tunnels| UplinkAddress { address: tunnels.local, vlan: tunnels.vlan, mac });
    let uplink = DesiredUplink::of(EngineKind::OpenVswitch, &name, nic, vlans);
    let uplink = uplink.map(|uplink| uplink.with_address(address));
    let pods = networks.iter().map(|network| (network.name.as_str(), network));
    let desired = switch.with_pods(Desired::new(networks.to_vec(), []), pods);
    desired.with_uplinks(uplink).with_tunnels(tunnels)
}

fn tunnel(network: &str, peer: u8) -> PortName {
    let network = network.parse().expect("a name");
    PortName::of_tunnel(&NetworkTunnel { network, peer: address(peer) })
}

/// Gives the bridge of the uplink its address, as the agent does.
fn set_address(switch: &OneSwitch) {
    ip(switch, &format!("link set {UPLINK_BRIDGE} up"));
    ip(switch, &format!("addr add 192.168.50.1/24 dev {UPLINK_BRIDGE}"));
}

/// The peers that a broadcast is encapsulated for. Their MAC addresses are known, without which the
/// switch would ask for them first.
fn sent_to(switch: &OneSwitch, network: &str, port: &str, peers: &[u8]) -> BTreeSet<u8> {
    for peer in peers {
        let mac = format!("02:00:00:00:06:{peer:02}");
        switch.appctl(&["tnl/neigh/set", UPLINK_BRIDGE, &address(*peer).to_string(), &mac]).expect("a neighbour");
    }
    let actions = broadcast(switch, &format!("br-{network}"), port, "");
    let is_encapsulated = |peer: &&u8| actions.contains(&format!("dst={}", address(**peer)));
    let peers: BTreeSet<u8> = peers.iter().filter(is_encapsulated).copied().collect();
    assert_eq!(actions.matches("tnl_push").count(), peers.len(), "{actions}");
    if !peers.is_empty() {
        let nic = number(switch, NIC);
        assert!(actions.contains("push_vlan(vid=10") && actions.contains(&format!(",{nic}")), "{actions}");
        assert!(actions.contains("src=192.168.50.1") && actions.contains(&format!("src={MAC}")), "{actions}");
    }
    peers
}

fn set(peers: &[u8]) -> BTreeSet<u8> {
    peers.iter().copied().collect()
}

#[test]
fn each_peer_has_a_tunnel_and_what_comes_from_one_goes_to_no_other() {
    let switch = start();
    let mut engine = switch.engine();
    let networks = [overlay(&switch, "blue", 5001, &[2, 3]), overlay(&switch, "red", 5002, &[3])];
    let both = desired(&switch, &networks);
    let operations = converge(&mut engine, &both);
    set_address(&switch);
    let pod = |name: &str| port_name(name).as_str().to_owned();
    assert_eq!(sent_to(&switch, "blue", &pod("blue"), &[2, 3, 4]), set(&[2, 3]));
    assert_eq!(sent_to(&switch, "red", &pod("red"), &[2, 3, 4]), set(&[3]));
    let received = broadcast(&switch, "br-blue", tunnel("blue", 2).as_str(), "");
    let (pod_of_blue, nic) = (number(&switch, &pod("blue")), number(&switch, NIC));
    let is_output = |port: &str| received.split(',').any(|action| action == port);
    assert!(is_output(&pod_of_blue) && !is_output(&nic) && !received.contains("tnl_push"), "{received}");
    for peer in [2, 3] {
        let row = vsctl(&switch, &format!("get Port {} protected", tunnel("blue", peer)));
        assert_eq!(row.trim(), "true");
    }

    let dump = switch.dump();
    assert!(apply(&mut engine, &operations).iter().all(Result::is_ok));
    assert_eq!(switch.dump(), dump, "a second time nothing is changed");
    assert_eq!(diff(&both, &observe(&mut engine)), []);
}

#[test]
fn a_peer_that_comes_or_goes_is_one_tunnel_and_one_transaction() {
    let switch = start();
    let mut engine = switch.engine();
    converge(&mut engine, &desired(&switch, &[overlay(&switch, "blue", 5001, &[2, 3])]));
    let kept = || [tunnel("blue", 3), port_name("blue"), PortName::observed(NIC)].map(|it| switch.port_identity(&it));
    let (before, configuration) = (kept(), vsctl(&switch, "get Open_vSwitch . next_cfg"));
    let operations = converge(&mut engine, &desired(&switch, &[overlay(&switch, "blue", 5001, &[3, 4, 5])]));
    assert_eq!(operations.len(), 3, "{operations:?}");
    assert_eq!(kept(), before);
    let number = |text: &str| text.trim().parse::<i64>().expect("a number");
    let now = vsctl(&switch, "get Open_vSwitch . next_cfg");
    assert_eq!(number(&now), number(&configuration) + 1);

    let nothing = Desired::default();
    converge(&mut engine, &nothing);
    assert_eq!(vsctl(&switch, "list-br"), "");
    assert_eq!(vsctl(&switch, "--bare --columns=name list Port"), "");
}

#[test]
fn what_others_change_is_repaired_and_what_is_theirs_is_not() {
    let switch = start();
    let mut engine = switch.engine();
    let spec = desired(&switch, &[overlay(&switch, "blue", 5001, &[2, 3])]);
    converge(&mut engine, &spec);
    set_address(&switch);
    vsctl(
        &switch,
        "add-port br-blue theirs -- set Interface theirs type=vxlan options:remote_ip=192.168.50.9 options:key=7",
    );
    let theirs = switch.port_identity(&PortName::observed("theirs"));
    let two = tunnel("blue", 2);
    for change in [
        format!("set Port {two} protected=false"),
        format!("set Interface {two} options:key=9"),
        format!("remove Interface {two} options local_ip"),
        format!("set Interface {two} options:csum=true"),
        format!("set Port {two} tag=7"),
        format!("del-port {two}"),
        format!("clear Port {UPLINK_BRIDGE} tag"),
        format!("set Bridge {UPLINK_BRIDGE} other_config:hwaddr=\"02:00:00:00:00:99\""),
        format!("remove Bridge {UPLINK_BRIDGE} external_ids usnet.dev/address"),
    ] {
        vsctl(&switch, &change);
        assert!(!converge(&mut engine, &spec).is_empty(), "{change}");
        assert_eq!(sent_to(&switch, "blue", port_name("blue").as_str(), &[2, 3, 4]), set(&[2, 3]), "{change}");
    }
    assert_eq!(switch.port_identity(&PortName::observed("theirs")), theirs);
}

#[test]
fn an_address_that_is_not_needed_any_more_goes_and_the_uplink_stays() {
    let switch = start();
    let mut engine = switch.engine();
    let mut spec = desired(&switch, &[overlay(&switch, "blue", 5001, &[2])]);
    converge(&mut engine, &spec);
    spec.uplinks.values_mut().for_each(|uplink| uplink.address = None);
    spec.tunnels.clear();
    converge(&mut engine, &spec);
    let bridge = vsctl(&switch, &format!("--bare --columns=external_ids,other_config list Bridge {UPLINK_BRIDGE}"));
    assert_eq!(bridge.trim(), "usnet.dev/uplink=fab");
    assert_eq!(vsctl(&switch, &format!("get Port {UPLINK_BRIDGE} tag")).trim(), "[]");
    assert!(!switch.port_identity(&PortName::observed(NIC)).is_empty());
}

/// Open vSwitch has one tunnel between two addresses with one VNI.
#[test]
fn a_tunnel_that_others_have_is_reported_and_not_changed() {
    let switch = start();
    let mut engine = switch.engine();
    vsctl(
        &switch,
        "add-br br0 -- set Bridge br0 datapath_type=netdev -- add-port br0 theirs -- set Interface theirs type=vxlan options:remote_ip=192.168.50.2 options:local_ip=192.168.50.1 options:key=5001 options:dst_port=4789",
    );
    let theirs = switch.port_identity(&PortName::observed("theirs"));
    let spec = desired(&switch, &[overlay(&switch, "blue", 5001, &[2, 3])]);
    let operations = diff(&spec, &observe(&mut engine));
    let failed = operations.iter().zip(apply(&mut engine, &operations)).filter_map(|(operation, result)| {
        let error = result.err()?;
        Some((operation.clone(), error))
    });
    let failed: Vec<(Op, OpError)> = failed.collect();
    assert!(
        matches!(failed.as_slice(), [(Op::CreatePort { port }, OpError::Refused { .. })] if port.name == tunnel("blue", 2)),
        "{failed:?}"
    );
    let observed = observe(&mut engine);
    let port = &observed.bridges[bridge(&switch.network("blue"))].ports[&tunnel("blue", 2)];
    assert!(matches!(&port.state, ElementState::Failed(problem) if problem.contains("File exists")), "{port:?}");
    assert!(
        spec.tunnels.values().flat_map(|tunnels| tunnels.ports()).all(|port| has_port(&port, &observed)),
        "it is not created again and again"
    );
    assert_eq!(switch.port_identity(&PortName::observed("theirs")), theirs);
}
