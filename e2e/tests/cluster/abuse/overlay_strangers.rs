//! What a pod that is in no network of usnet can do to overlays: it reaches the UDP port of each
//! node over the cluster network.

use crate::support::cluster::{apply, check, eventually, get, nodes, on_node};
use crate::support::pods::{pod_without_volume, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::station::{Station, process};
use crate::support::vpp;
use serde_json::json;
use std::collections::BTreeSet;
use std::env;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PORT: u16 = 4789;
/// Datagrams between two pods of another network meanwhile.
const NUMBERED: u32 = 100;

/// The duration of the flood.
fn flood() -> Duration {
    let seconds = env::var("USNET_FLOOD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// A broadcast whose source has this number, encapsulated.
fn encapsulated(vni: u32, number: u32) -> Vec<u8> {
    let [_, vni @ ..] = vni.to_be_bytes();
    let inner = [&[0xff; 6], [2, 0x66].as_slice(), &number.to_be_bytes(), &[0x88, 0xb5], &[7; 46]].concat();
    [&[8, 0, 0, 0], vni.as_slice(), &[0], &inner].concat()
}

/// The VXLAN device of a network on a node.
fn device(node: &str, network: &str) -> String {
    let script = format!("ip -o link show type vxlan | grep 'alias usnet [A-Z]* {network}$' | cut -d: -f2");
    on_node(node, &["sh", "-c", &script]).trim().to_owned()
}

/// The addresses that it has learned of the frames of strangers.
fn learned(node: &str, network: &str) -> Vec<String> {
    let entries = on_node(node, &["bridge", "fdb", "show", "dev", &device(node, network)]);
    entries.lines().filter(|line| line.starts_with("02:66:")).map(str::to_owned).collect()
}

/// A pod on each node in an overlay, and the stations.
fn overlay(scene: &Scene, network: &str, engine: &str, vni: u32) -> Vec<Station> {
    scene.apply_network(
        network,
        &json!({
            "engine": engine,
            "port": {"type": "Veth"},
            "topology": {"type": "Overlay", "overlay": {"vni": vni}},
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}},
        }),
    );
    wait_ready(network);
    let names: Vec<String> = nodes().iter().map(|node| format!("{network}-{node}")).collect();
    for (name, node) in names.iter().zip(nodes()) {
        let mut pod = pod_without_volume(scene, name, network);
        pod["spec"]["nodeName"] = json!(node);
        apply(&pod);
    }
    names.iter().for_each(|name| wait_running(scene, name));
    names.iter().map(|name| Station::of_pod(scene, name)).collect()
}

/// A pod that only has its cluster interface.
fn stranger(scene: &Scene) -> Station {
    let mut pod = pod_without_volume(scene, "stranger", "");
    pod["metadata"]["annotations"] = json!({});
    apply(&pod);
    wait_running(scene, "stranger");
    let pod = get(&["pod", "stranger", "-n", &scene.name]).unwrap();
    let address = pod["status"]["podIP"].as_str().unwrap();
    let mut station = Station::outside("stranger", address, format!("/proc/{}/ns/net", process(&pod)).into());
    pod["spec"]["nodeName"].as_str().unwrap().clone_into(&mut station.node);
    station
}

/// A node that sends what a pod sends in its own name, as most plugins of cluster networks do it.
struct Masquerade<'a>(&'a str);

impl<'a> Masquerade<'a> {
    fn of(pod: &'a Station) -> Self {
        let rules = format!(
            "add table ip e2e; add chain ip e2e out {{ type nat hook postrouting priority 100 ; }}; \
             add rule ip e2e out ip saddr {} masquerade",
            pod.address
        );
        on_node(&pod.node, &["nft", &rules]);
        Self(&pod.node)
    }
}

impl Drop for Masquerade<'_> {
    fn drop(&mut self) {
        on_node(self.0, &["nft", "delete table ip e2e"]);
    }
}

/// Packets of the pod arrive at other nodes from its node, which is a peer of their overlays.
fn a_masqueraded_pod_writes_into_no_overlay(pod: &Station, network: &str, vni: u32) {
    let masquerade = Masquerade::of(pod);
    let node = Station::of_node(nodes().into_iter().find(|node| *node != pod.node).unwrap());
    let address = node.address.clone();
    let bind = move || UdpSocket::bind("0.0.0.0:7009").unwrap();
    let witness = node.run(bind).join().unwrap();
    witness.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let send = move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for number in 0..NUMBERED {
            let _refused = socket.send_to(&encapsulated(vni, number), (address.as_str(), PORT));
        }
        socket.send_to(b"after them", (address.as_str(), 7009)).unwrap();
    };
    pod.run(send).join().unwrap();
    let (_, from) = witness.recv_from(&mut [0; 16]).unwrap();
    assert_eq!(from.ip().to_string(), Station::of_node(&pod.node).address, "it is masqueraded");
    assert_eq!(learned(&node.name, network), Vec::<String>::new());
    drop(masquerade);
}

/// Returns the number of datagrams that arrive.
fn exchanged(from: &Station, to: &Station) -> usize {
    let address = format!("{}:7007", to.address);
    let listener = to.run({
        let address = address.clone();
        move || {
            let socket = UdpSocket::bind(address).unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
            socket
        }
    });
    let socket = listener.join().unwrap();
    let sender = from.run(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for number in 0..NUMBERED {
            let _lost_if_it_fails = socket.send_to(&number.to_be_bytes(), &address);
            sleep(Duration::from_millis(20));
        }
    });
    let (mut arrived, mut buffer) = (BTreeSet::new(), [0; 4]);
    while arrived.len() < NUMBERED as usize && socket.recv(&mut buffer).is_ok() {
        arrived.insert(buffer);
    }
    sender.join().unwrap();
    arrived.len()
}

fn a_pod_of_the_cluster_network_writes_into_no_overlay(name: &'static str, engine: &'static str, vni: u32) {
    let scene = Scene::new(name);
    let other = format!("{name}-other");
    overlay(&scene, name, engine, vni);
    let others = overlay(&scene, &other, engine, vni + 1);
    let addresses: Vec<String> = nodes().into_iter().map(|node| Station::of_node(node).address).collect();
    let ends = Arc::new(AtomicBool::new(false));
    let stranger = stranger(&scene);
    let flooding = stranger.run({
        let (ends, until) = (Arc::clone(&ends), Instant::now() + flood());
        move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) || Instant::now() < until {
                for address in &addresses {
                    // A node may answer that it does not want any.
                    let _refused = socket.send_to(&encapsulated(vni, number), (address.as_str(), PORT));
                }
                number += 1;
                if number % 64 == 0 {
                    sleep(Duration::from_millis(1));
                }
            }
            number
        }
    });
    let arrived = if engine == "OVS" || vpp::moves_packets("packets of an overlay beside a flood") {
        let [first, second, ..] = others.as_slice() else { panic!("two nodes") };
        exchanged(first, second)
    } else {
        NUMBERED as usize
    };
    ends.store(true, Ordering::Relaxed);
    let sent = flooding.join().unwrap();
    assert!(sent > 100, "{sent} datagrams");
    assert_eq!(arrived, NUMBERED as usize, "datagrams of another network");
    for node in nodes() {
        assert_eq!(learned(node, name), Vec::<String>::new(), "{node}");
    }
    let counted = || {
        let counters = nodes().into_iter().map(|node| on_node(node, &["nft", "list", "table", "inet", "usnet"]));
        let counters = counters.collect::<String>();
        let packets = counters.split("counter packets ").skip(1);
        packets.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    eventually("what was dropped is counted", || {
        let counted = counted();
        check(counted >= u64::from(sent), format!("{counted} of {sent}"))
    });
    a_masqueraded_pod_writes_into_no_overlay(&stranger, name, vni);
}

#[test]
fn a_pod_of_the_cluster_network_writes_into_no_overlay_of_open_vswitch() {
    a_pod_of_the_cluster_network_writes_into_no_overlay("strangers-ovs", "OVS", 7301);
}

#[test]
fn a_pod_of_the_cluster_network_writes_into_no_overlay_of_vpp() {
    a_pod_of_the_cluster_network_writes_into_no_overlay("strangers-vpp", "VPP", 7401);
}
