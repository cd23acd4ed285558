//! Packets between pods on a VPP network, for each way in which a pod can reach VPP.

use crate::support::cluster::{check, eventually, get};
use crate::support::pods::{NODE, await_packets, dpdk_pod, remains, start, testpmd_pod, uid};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, Program};
use crate::support::vpp;
use serde_json::{Value, json};

/// Checks that both pods of a network receive each other's packets, and that a deleted pod leaves
/// nothing.
fn exchange(name: &str, port: &Value, driver: Driver) {
    let scene = Scene::new(name);
    scene.network(name, &json!({"engine": "VPP", "port": port}));
    for pod in ["left", "right"] {
        // In this mode each side sends, and counts what it receives.
        start(&scene, &dpdk_pod(&scene, pod, name, Program::new(driver, "flowgen")));
    }
    let ports = vpp::await_ports(NODE, name, 2);
    assert!(ports.iter().all(|port| port.tag.starts_with("usn")), "{ports:?}");
    if vpp::moves_packets(&format!("packets over {name}")) {
        for pod in ["left", "right"] {
            println!("{name}: {pod} received {:?} packets", await_packets(&scene, pod, 1));
        }
        eventually("the count of connected pods", || {
            let state = get(&["usns", NODE]).unwrap();
            let networks = state["status"]["networks"].as_array().cloned().unwrap_or_default();
            let observed = networks.iter().find(|network| network["name"] == name).cloned().unwrap_or_default();
            check(observed["attachments"] == 2 && observed["connected"] == 2, observed.to_string())
        });
    }
    let left = uid(&scene, "left");
    scene.delete_pod("left");
    vpp::await_ports(NODE, name, 1);
    eventually("everything of the deleted pod is gone", || check(remains(&left).is_empty(), remains(&left)));
}

#[test]
fn two_pods_exchange_packets_over_memif_in_their_volumes() {
    exchange("memif-volume", &json!({"type": "Memif"}), Driver::Memif);
}

#[test]
fn two_pods_exchange_packets_over_abstract_memif_without_a_volume() {
    exchange("memif-abstract", &json!({"type": "Memif", "memif": {"socket": "Abstract"}}), Driver::MemifAbstract);
}

#[test]
fn two_pods_that_listen_exchange_packets_over_vhost_user() {
    exchange("vhost-client", &json!({"type": "VhostUser"}), Driver::VhostServer);
}

#[test]
fn two_pods_that_connect_exchange_packets_over_vhost_user() {
    let port = json!({"type": "VhostUser", "vhostUser": {"engineRole": "Server"}});
    exchange("vhost-server", &port, Driver::VhostClient);
}

#[test]
fn both_engines_serve_pods_of_one_node() {
    let scene = Scene::new("beside");
    scene.network("beside-vpp", &json!({"engine": "VPP"}));
    scene.network("beside-ovs", &json!({"engine": "OVS"}));
    for pod in ["vpp-left", "vpp-right"] {
        start(&scene, &dpdk_pod(&scene, pod, "beside-vpp", Program::new(Driver::Memif, "flowgen")));
    }
    for pod in ["ovs-left", "ovs-right"] {
        start(&scene, &testpmd_pod(&scene, pod, "beside-ovs", "flowgen"));
    }
    vpp::await_ports(NODE, "beside-vpp", 2);
    for pod in ["ovs-left", "ovs-right"] {
        println!("Open vSwitch: {pod} received {:?} packets", await_packets(&scene, pod, 1));
    }
    if vpp::moves_packets("packets over VPP beside those over Open vSwitch") {
        for pod in ["vpp-left", "vpp-right"] {
            println!("VPP: {pod} received {:?} packets", await_packets(&scene, pod, 1));
        }
    }
}
