//! Overlays: pods of one segment on different nodes, over VXLAN between the nodes' addresses.

use super::is_long;
use super::segment::{Segment, Variant, meet};
use super::uplink;
use crate::support::cluster::{check, eventually, nodes, on_node};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::json;

/// The MTU of the nodes' network, 1500, without the 50 bytes of VXLAN over IPv4.
const MTU: usize = 1450;

pub(super) const OVS: Variant = Variant {
    name: "Open vSwitch, VXLAN of the kernel",
    engines: &["OVS"],
    topology: |_| json!({"type": "Overlay", "overlay": {}}),
    mtu: MTU,
};
pub(super) const VPP: Variant = Variant { name: "VPP, VXLAN of the kernel", engines: &["VPP"], ..OVS };
const MIXED: Variant = Variant {
    name: "Open vSwitch and VPP in one VNI",
    engines: &["OVS", "VPP"],
    topology: |number| json!({"type": "Overlay", "overlay": {"vni": 7000 + u32::from(number)}}),
    mtu: MTU,
};

/// The tunnels of the engine itself, in VLAN 10 of the nodes' second NICs.
const OVS_ENGINE: Variant = Variant {
    name: "Open vSwitch, VXLAN of its own",
    topology: |_| {
        let underlay = json!({"type": "Uplink", "uplink": {"name": "under"}});
        json!({"type": "Overlay", "overlay": {"encapsulation": "Engine", "underlay": underlay}})
    },
    ..OVS
};

const VPP_ENGINE: Variant = Variant { name: "VPP, VXLAN of its own", engines: &["VPP"], ..OVS_ENGINE };

/// The kernel's VXLAN devices of a network on a node.
fn devices(node: &str, network: &str) -> String {
    on_node(node, &["sh", "-c", &format!("ip -o link show type vxlan | grep -w 'usnet [A-Z]* {network}' || true")])
}

/// Pods on all nodes, and others of another segment that has the same addresses.
fn pods_meet_across_nodes(name: &'static str, other: &'static str, variant: Variant) {
    let scene = Scene::new(name);
    let segments = [(name, 1), (other, 2)].map(|(name, number)| Segment::create(&scene, name, variant, number));
    let [segment, other] = &segments;
    if !variant.moves_packets() {
        return;
    }
    let members = segment.members();
    let strangers = other.strangers(&members);
    meet(&variant, &members.iter().collect::<Vec<_>>(), &strangers.iter().collect::<Vec<&Station>>());

    segment.delete(&members);
    other.delete(&strangers);
    let networks: Vec<String> = segments.iter().flat_map(Segment::networks).map(|(_, network)| network).collect();
    for (node, network) in nodes().into_iter().flat_map(|node| networks.iter().map(move |network| (node, network))) {
        eventually("the VXLAN device is gone", || check(devices(node, network).is_empty(), devices(node, network)));
    }
}

#[test]
fn pods_on_open_vswitch_meet_across_nodes_and_each_broadcast_arrives_once() {
    pods_meet_across_nodes("across-ovs", "across-ovs-other", OVS);
}

#[test]
fn pods_on_vpp_meet_across_nodes_and_each_broadcast_arrives_once() {
    pods_meet_across_nodes("across-vpp", "across-vpp-other", VPP);
}

#[test]
fn pods_on_open_vswitch_and_vpp_meet_in_one_vni() {
    if is_long("one segment of Open vSwitch and VPP") {
        pods_meet_across_nodes("across-mixed", "across-mixed-other", MIXED);
    }
}

#[test]
fn pods_meet_over_vxlan_of_open_vswitch_and_each_broadcast_arrives_once() {
    if is_long("VXLAN of Open vSwitch itself") {
        pods_meet_over_vxlan_of_the_engine("OVS", ["across-own", "across-own-other"], OVS_ENGINE);
    }
}

#[test]
fn pods_meet_over_vxlan_of_vpp_and_each_broadcast_arrives_once() {
    if is_long("VXLAN of VPP itself") {
        pods_meet_over_vxlan_of_the_engine("VPP", ["across-vown", "across-vown-other"], VPP_ENGINE);
    }
}

fn pods_meet_over_vxlan_of_the_engine(engine: &'static str, names: [&'static str; 2], variant: Variant) {
    let underlay = json!({"underlay": {"subnet": "192.168.50.0/24", "vlan": 10}});
    let uplink = uplink::uplink_with("under", engine, underlay);
    let [name, other] = names;
    pods_meet_across_nodes(name, other, variant);
    for node in nodes() {
        let devices = on_node(node, &["ip", "-o", "link", "show", "type", "vxlan"]);
        assert!(!devices.contains(name), "{devices}");
    }
    uplink::delete(uplink, "under");
}
