//! Overlays: pods of one network on different nodes, over VXLAN between the nodes' addresses.

use super::count::{ALL_ONCE, BROADCASTS, NONE, await_datagram, broadcast};
use crate::support::cluster::{NODES, check, eventually, kubectl, on_node, timeout};
use crate::support::pods::{sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::vpp;
use serde_json::json;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// The MTU of the nodes' network, 1500, without the 50 bytes of VXLAN over IPv4.
const MTU: usize = 1450;
/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;
const BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 142, 255, 255);

/// A network with the same addresses as any other of these tests.
fn overlay(scene: &Scene, name: &str, engine: &str) {
    let spec = json!({
        "engine": engine,
        "port": {"type": "Veth"},
        "topology": {"type": "Overlay", "overlay": {}},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}},
    });
    scene.network(name, &spec);
}

/// A pod on a node and a network.
fn station(scene: &Scene, name: &str, node: &str, network: &str) -> Station {
    let mut pod = sleeping_pod(scene, name, network);
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"]["volumes"] = json!([]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    start(scene, &pod);
    Station::of_pod(scene, name)
}

/// The kernel's VXLAN devices of a network on a node.
fn devices(node: &str, network: &str) -> String {
    on_node(node, &["sh", "-c", &format!("ip -o link show type vxlan | grep -w 'usnet {network}' || true")])
}

/// Three pods on two nodes, and one of another network that has the same addresses.
fn pods_meet_across_nodes(name: &str, engine: &str) {
    let scene = Scene::new(name);
    let other = format!("{name}-other");
    overlay(&scene, name, engine);
    overlay(&scene, &other, engine);
    if engine == "VPP" && !vpp::moves_packets(&format!("packets over {name}")) {
        return;
    }
    let [near, far] = NODES;
    let pods = [("left", near), ("beside", near), ("right", far)];
    let stations = pods.map(|(pod, node)| station(&scene, pod, node, name));
    let stranger = station(&scene, "stranger", far, &other);
    let [left, beside, right] = &stations;
    let addresses = BTreeSet::from([&left.address, &beside.address, &right.address]);
    assert_eq!(addresses.len(), stations.len(), "{addresses:?}");
    assert_eq!(stranger.address, right.address, "both networks have the same addresses");

    await_datagram(left, right, MTU - HEADERS);
    await_datagram(right, left, MTU - HEADERS);
    let everybody: Vec<&Station> = stations.iter().chain([&stranger]).collect();
    for sender in [left, right] {
        let counts = broadcast(sender, BROADCAST, &everybody);
        println!("{name}: {} sent {BROADCASTS} broadcasts; received: {counts:?}", sender.name);
        for (pod, count) in counts {
            // The sender's own kernel gives it each of them once.
            let expected = if pod == stranger.name { NONE } else { ALL_ONCE };
            assert_eq!(count, expected, "{pod}, of what {} sent", sender.name);
        }
    }

    for station in everybody {
        scene.delete_pod(&station.name);
    }
    kubectl(&["delete", "usn", name, &other, timeout()]);
    for (node, network) in NODES.into_iter().flat_map(|node| [(node, name), (node, other.as_str())]) {
        eventually("the VXLAN device is gone", || check(devices(node, network).is_empty(), devices(node, network)));
    }
}

#[test]
fn pods_on_open_vswitch_meet_across_nodes_and_each_broadcast_arrives_once() {
    pods_meet_across_nodes("across-ovs", "OVS");
}

#[test]
fn pods_on_vpp_meet_across_nodes_and_each_broadcast_arrives_once() {
    pods_meet_across_nodes("across-vpp", "VPP");
}
