//! An uplink on the NIC that has the node's own address.

use super::is_long;
use super::segment::{Segment, Variant, meet};
use crate::support::cluster::{check, eventually, nodes, on_node, vsctl};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::uplinks::Uplink;
use serde_json::json;

const VARIANT: Variant = Variant {
    name: "Open vSwitch uplink with VLAN, NIC shared with the node",
    engines: &["OVS"],
    topology: |number| json!({"type": "Uplink", "uplink": {"name": "shared", "vlan": 300 + number}}),
    mtu: 1500,
};

#[test]
fn pods_meet_over_the_nic_of_the_nodes_and_all_nodes_stay_reachable() {
    if !is_long("an uplink over the NIC with the node's address") {
        return;
    }
    let scene = Scene::new("across-shared");
    let uplink = Uplink::apply(&json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink", "metadata": {"name": "shared"},
        "spec": {
            "engine": "OVS", "nodeTraffic": "Shared", "vlans": ["300-399"],
            "nics": [{"device": {"type": "Name", "name": "eth0"}}],
        },
    }));
    let addresses = || nodes().into_iter().map(addresses_of).collect::<Vec<String>>();
    let before = addresses();
    let segments = ["shared-blue", "shared-red"].into_iter().zip(1..);
    let segments: Vec<Segment<'_>> =
        segments.map(|(name, number)| Segment::create(&scene, name, VARIANT, number)).collect();
    let members = segments[0].members();
    let strangers = segments[1].strangers(&members);
    meet(&VARIANT, &members.iter().collect::<Vec<_>>(), &strangers.iter().collect::<Vec<&Station>>());
    assert_eq!(addresses(), before, "addresses and routes of the nodes");
    segments[0].delete(&members);
    segments[1].delete(&strangers);
    drop(uplink);
    for node in nodes() {
        eventually("the bridge of the uplink is gone", || {
            let bridges = vsctl(node, &["list-br"]);
            check(!bridges.contains("br-up-shared"), bridges)
        });
    }
    assert_eq!(addresses(), before, "addresses and routes of the nodes");
}

/// The addresses and routes of a node at that NIC.
fn addresses_of(node: &str) -> String {
    on_node(node, &["sh", "-c", "ip -br addr show dev eth0; ip route show dev eth0"])
}
