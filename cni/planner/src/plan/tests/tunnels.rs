//! Networks whose engine encapsulates: tunnels to peers over an uplink.

use super::golden::{Scenario, check, known, programmed};
use super::properties::converge;
use crate::model::desired::Desired;
use crate::model::observed::{Observed, ObservedPort};
use crate::model::owner::NetworkTunnel;
use crate::model::port::{DeviceName, PortBackend, PortName, PortPolicy};
use crate::model::tagging::Tagging;
use crate::model::underlay::{DesiredTunnels, UplinkAddress};
use crate::model::uplink::{DesiredNic, DesiredUplink};
use crate::plan::tests::model::Model;
use crate::plan::{PlanContext, diff};
use crate::testing::network;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::{Encapsulation, EngineKind, NodeNetwork, NodeOverlay, NodeUnderlay, VlanTag};

const FAB: &str = "fab";

fn tag(number: i64) -> VlanTag {
    VlanTag::try_from(number).unwrap()
}

fn address(last: u8) -> IpAddr {
    [192, 168, 50, last].into()
}

/// A network of the node with address 192.168.50.1.
fn overlay(name: &str, vni: i64, peers: &[u8]) -> NodeNetwork {
    let underlay = NodeUnderlay { uplink: FAB.parse().unwrap(), vlan: Some(tag(10)), prefix_length: 24 };
    let overlay = NodeOverlay {
        vni: vni.try_into().unwrap(),
        port: 4789.try_into().unwrap(),
        encapsulation: Encapsulation::Engine,
        underlay: Some(underlay),
        local: address(1),
        multicast_group: None,
        peers: Arc::new(peers.iter().map(|last| address(*last)).collect()),
    };
    NodeNetwork { overlay: Some(overlay), ..network(name) }
}

fn desired(networks: &[NodeNetwork]) -> Desired {
    let tunnels: Vec<_> = networks.iter().filter_map(DesiredTunnels::of).collect();
    let nic = Some(DesiredNic::kernel(&DeviceName::observed("eth1"), 7, [2, 0, 0, 0, 0, 1]));
    let vlans = tunnels.iter().map(|tunnels| tunnels.vlan);
    let uplink = DesiredUplink::of(EngineKind::OpenVswitch, &FAB.parse().unwrap(), nic, vlans);
    let address = tunnels.first().map(|tunnels| UplinkAddress {
        address: tunnels.local,
        vlan: tunnels.vlan,
        mac: "02:00:00:00:00:07".parse().ok(),
    });
    let uplink = uplink.map(|uplink| uplink.with_address(address));
    Desired::new(networks.to_vec(), []).with_uplinks(uplink).with_tunnels(tunnels)
}

fn texts(desired: &Desired, observed: &Observed) -> Vec<String> {
    diff(desired, observed).iter().map(ToString::to_string).collect()
}

fn golden(name: &str, about: &'static str, desired: Desired, observed: Observed, context: PlanContext) {
    check(name, &Scenario { about, desired, observed, context });
}

fn two_peers() -> Observed {
    programmed(EngineKind::OpenVswitch, &desired(&[overlay("blue", 5001, &[2, 3])]))
}

fn tunnel(peer: u8) -> PortName {
    PortName::of_tunnel(&NetworkTunnel { network: "blue".parse().unwrap(), peer: address(peer) })
}

#[test]
fn tunnels_new() {
    let about = "A new network that the engine encapsulates, with two peers.";
    let spec = desired(&[overlay("blue", 5001, &[2, 3])]);
    golden("tunnels_new", about, spec, Observed::default(), PlanContext::default());
}

#[test]
fn tunnels_of_other_peers() {
    let about = "One peer comes and one goes: the tunnel to the third stays.";
    let spec = desired(&[overlay("blue", 5001, &[3, 4])]);
    golden("tunnels_of_other_peers", about, spec, two_peers(), PlanContext::default());
}

#[test]
fn tunnels_drift() {
    let about = "Others made a tunnel unprotected, removed another one, and changed the address.";
    let mut observed = two_peers();
    let ports = &mut observed.bridges.get_mut("br-blue").unwrap().ports;
    ports.get_mut(&tunnel(2)).unwrap().backend = None;
    ports.remove(&tunnel(3));
    observed.addresses.values_mut().for_each(|address| address.tagging = Tagging::Untagged);
    let spec = desired(&[overlay("blue", 5001, &[2, 3])]);
    golden("tunnels_drift", about, spec, observed, known());
}

#[test]
fn tunnels_last_network() {
    let about = "The last network leaves: its tunnels, then the NIC and the bridge of the uplink with the address.";
    golden("tunnels_last_network", about, Desired::default(), two_peers(), PlanContext::default());
}

#[test]
fn without_the_address_of_this_node_there_are_no_new_tunnels_and_others_stay() {
    let mut spec = desired(&[overlay("blue", 5001, &[2, 3])]);
    spec.uplinks.values_mut().for_each(|uplink| uplink.nic = None);
    assert_eq!(texts(&spec, &Observed::default()), ["create bridge br-blue for network blue"]);
    assert_eq!(texts(&spec, &two_peers()), Vec::<String>::new());
    spec.tunnels.values_mut().for_each(|tunnels| tunnels.policy = PortPolicy::Keep);
    assert_eq!(texts(&spec, &two_peers()), Vec::<String>::new());
}

#[test]
fn a_nic_that_is_gone_leaves_the_mac_address_of_the_bridge_as_it_is() {
    let mut spec = desired(&[overlay("blue", 5001, &[2])]);
    let observed = programmed(EngineKind::OpenVswitch, &spec);
    spec.uplinks.values_mut().filter_map(|uplink| uplink.address.as_mut()).for_each(|address| address.mac = None);
    assert_eq!(texts(&spec, &observed), Vec::<String>::new());
    let another = "02:00:00:00:00:08".parse().ok();
    spec.uplinks.values_mut().filter_map(|uplink| uplink.address.as_mut()).for_each(|address| address.mac = another);
    assert_eq!(texts(&spec, &observed), ["set address 192.168.50.1/24 on uplink fab in VLAN 10"]);
}

#[test]
fn another_vni_is_another_tunnel() {
    let changed = desired(&[overlay("blue", 5002, &[2, 3])]);
    let texts = texts(&changed, &two_peers());
    assert_eq!(texts.iter().filter(|text| text.starts_with("remove port ust-")).count(), 2, "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.contains("VNI 5002")).count(), 2, "{texts:?}");
    assert_eq!(texts.len(), 4);
}

proptest! {
    /// Whatever peers the networks had, those that they have now are reached after one plan, and a
    /// second one is empty.
    #[test]
    fn tunnels_converge(
        before in proptest::collection::vec(proptest::collection::btree_set(2_u8..9, 0..5), 0..3),
        after in proptest::collection::vec(proptest::collection::btree_set(2_u8..9, 0..5), 0..3),
    ) {
        let networks = |sets: &[BTreeSet<u8>]| {
            let network = |(number, peers): (usize, &BTreeSet<u8>)| {
                let peers: Vec<u8> = peers.iter().copied().collect();
                overlay(&format!("net{number}"), 5001 + i64::try_from(number).unwrap(), &peers)
            };
            desired(&sets.iter().enumerate().map(network).collect::<Vec<_>>())
        };
        let (before, after) = (networks(&before), networks(&after));
        let observed = converge(&before, Model { kind: EngineKind::OpenVswitch, observed: Observed::default() })?;
        let observed = converge(&after, Model { kind: EngineKind::OpenVswitch, observed })?;
        prop_assert_eq!(diff(&after, &observed), vec![]);
        let is_tunnel = |port: &&ObservedPort| matches!(port.backend, Some(PortBackend::Vxlan { .. }));
        let count = observed.bridges.values().flat_map(|bridge| bridge.ports.values()).filter(is_tunnel).count();
        prop_assert_eq!(count, after.tunnels.values().map(|tunnels| tunnels.peers.len()).sum::<usize>());
    }
}
