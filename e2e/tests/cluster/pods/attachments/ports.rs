//! Each type of port on each engine, plugged into running pods: packets arrive while it is
//! attached, none afterwards, and those of another interface all the time.

use super::{INTERFACE, assert_nothing_left, await_plugged_packets, plug, start_program, status, stop_program, unplug};
use crate::support::cluster::eventually;
use crate::support::pods::{await_packets, description, in_pod, start, testpmd_pod};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, flowing_counters};
use crate::support::{cluster, vpp};
use serde_json::{Value, json};
use std::time::Instant;

const PODS: [&str; 2] = ["left", "right"];

/// A pod that polls an interface, with room for a second program.
fn pod(scene: &Scene, name: &str, mode: &str) -> Value {
    let mut pod = testpmd_pod(scene, name, "plug-base", mode);
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "600m"}, "requests": {"cpu": "10m"}});
    pod
}

fn with_addresses(mut spec: Value, number: u8) -> Value {
    let subnet = format!("10.77.{number}.0/24");
    spec["ipam"] = json!({"type": "host-local", "ranges": [[{"subnet": subnet}]]});
    spec
}

#[test]
fn every_type_of_port_is_plugged_into_running_pods_and_unplugged() {
    let scene = Scene::new("plugtypes");
    scene.network("plug-base", &json!({}));
    let networks = [
        ("plug-ovs", json!({"engine": "OVS"}), Some(Driver::VhostServer)),
        ("plug-vpp", json!({"engine": "VPP", "port": {"type": "VhostUser"}}), Some(Driver::VhostServer)),
        ("plug-memif", json!({"engine": "VPP", "port": {"type": "Memif"}}), Some(Driver::Memif)),
        ("plug-veth", json!({"engine": "OVS", "port": {"type": "Veth"}}), None),
        ("plug-vppveth", json!({"engine": "VPP", "port": {"type": "Veth"}}), None),
    ];
    for (number, (network, spec, _)) in networks.iter().enumerate() {
        scene.apply_network(network, &with_addresses(spec.clone(), u8::try_from(number).unwrap()));
    }
    start(&scene, &pod(&scene, "left", "flowgen"));
    start(&scene, &pod(&scene, "right", "rxonly"));
    await_packets(&scene, "right", 1);
    for (network, spec, driver) in networks {
        crate::support::scene::wait_ready(network);
        let is_vpp = spec["engine"] == "VPP";
        match driver {
            Some(driver) => sockets(&scene, network, driver, is_vpp),
            None => devices(&scene, network, is_vpp),
        }
        assert_nothing_left(&scene);
    }
    // Neither ADD nor DEL took the other interface's packets.
    let counts = flowing_counters(&cluster::kubectl(&["logs", "right", "-n", &scene.name]));
    assert!(counts.len() > 5, "{counts:?}");
}

fn sockets(scene: &Scene, network: &str, driver: Driver, is_vpp: bool) {
    let started = Instant::now();
    let ready = plug(scene, &PODS, network);
    let found = status(scene, "right");
    let described = description(scene, "right", INTERFACE);
    assert_eq!((&found["mac"], &found["socket"]), (&described["mac"], &json!("net7.sock")), "{found}");
    assert_eq!((&found["ips"][0], &found["mtu"]), (&described["ips"][0]["address"], &described["mtu"]), "{found}");
    if !is_vpp || vpp::moves_packets(&format!("packets of {network}, plugged")) {
        start_program(scene, "left", driver, "flowgen");
        start_program(scene, "right", driver, "rxonly");
        let packets = await_plugged_packets(scene, "right");
        println!("{network}: Ready after {ready:?}, {packets} packets after {:?}", started.elapsed());
        PODS.iter().for_each(|pod| stop_program(scene, pod));
    } else {
        println!("{network}: Ready after {ready:?}");
    }
    println!("{network}: unplugged after {:?}", unplug(scene, &PODS));
    assert_eq!(in_pod(scene, "right", &format!("ls /run/usnet | grep {INTERFACE} || true")), "");
}

fn devices(scene: &Scene, network: &str, is_vpp: bool) {
    let started = Instant::now();
    let ready = plug(scene, &PODS, network);
    let address = status(scene, "right")["ips"][0].as_str().unwrap().split('/').next().unwrap().to_owned();
    if !is_vpp || vpp::moves_packets(&format!("packets of {network}, plugged")) {
        let ping = format!("busybox ping -c 1 -W 1 -I {INTERFACE} {address}");
        eventually("an answer on the plugged interface", || {
            let arguments = ["exec", "left", "-n", &scene.name, "--", "busybox", "sh", "-c", &ping];
            cluster::try_run("kubectl", &arguments, "")
        });
        println!("{network}: Ready after {ready:?}, answered after {:?}", started.elapsed());
    } else {
        println!("{network}: Ready after {ready:?}");
    }
    println!("{network}: unplugged after {:?}", unplug(scene, &PODS));
    assert_eq!(in_pod(scene, "right", &format!("busybox ip link | grep {INTERFACE} || true")), "");
}
