//! No pod reaches, steers or uses a node over its networks, and what keeps it from that is put
//! back.

use crate::support::cluster::{apply, check, eventually, eventually_within, get, nodes, on_node};
use crate::support::pod_endpoint::PodEndpoint;
use crate::support::pods::{NODE, pod_without_volume, sleeping_pod, start, wait_running};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::vpp;
use serde_json::{Value, json};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usnet_dataplane::isolation::TABLE;
use usnet_dataplane::nftables::{Batch, Nftables};
use usnet_test_abuse::{Frame, PORT, Target, frames};

/// What shows in a table of a node that took a frame: the prefix and the route that are advertised,
/// and the sender's MAC address.
const TRACES: [&str; 3] = ["2001:db8:bad", "2001:db8:beef", "02:00:00:00:ab:05"];

/// Settings of a node for all of its devices, with which it takes part in as much as it can, and
/// their opposites.
const SETTINGS: [[(&str, &str); 5]; 2] = [
    [
        ("ipv4/conf/all/rp_filter", "2"),
        ("ipv4/conf/all/arp_accept", "1"),
        ("ipv4/conf/all/accept_redirects", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        ("ipv6/conf/all/accept_ra", "2"),
    ],
    [
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/all/arp_accept", "0"),
        ("ipv4/conf/all/accept_redirects", "0"),
        ("ipv6/conf/all/forwarding", "0"),
        ("ipv6/conf/all/accept_ra", "1"),
    ],
];

/// Settings of all nodes, until this is dropped.
struct Settings(Vec<(&'static str, &'static str, String)>);

impl Settings {
    fn set(settings: &'static [(&'static str, &'static str)]) -> Self {
        let mut before = Vec::new();
        for (node, (name, value)) in nodes().into_iter().flat_map(|node| settings.iter().map(move |it| (node, it))) {
            let script = format!("cat /proc/sys/net/{name}; echo {value} >/proc/sys/net/{name}");
            before.push((node, *name, on_node(node, &["sh", "-c", &script]).trim().to_owned()));
        }
        Self(before)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (node, name, value) in &self.0 {
            on_node(node, &["sh", "-c", &format!("echo {value} >/proc/sys/net/{name}")]);
        }
    }
}

/// A program on each node that counts what it receives at the port of the frames.
struct Listeners {
    end: Arc<AtomicBool>,
    threads: Vec<(String, JoinHandle<usize>)>,
}

impl Listeners {
    fn start() -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let listen = |node: &&'static str| {
            let has_ended = Arc::clone(&end);
            let thread = Station::of_node(node).run(move || {
                let socket = UdpSocket::bind(("::", PORT)).unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                let mut received = 0;
                while !has_ended.load(Ordering::Relaxed) {
                    received += usize::from(socket.recv(&mut [0; 2000]).is_ok());
                }
                received
            });
            ((*node).to_owned(), thread)
        };
        let threads = nodes().iter().map(listen).collect();
        Self { end, threads }
    }

    /// Nodes that have received something, or have a trace of it.
    fn affected(self) -> Vec<String> {
        thread::sleep(Duration::from_secs(1));
        self.end.store(true, Ordering::Relaxed);
        let mut found = Vec::new();
        for (node, thread) in self.threads {
            let received = thread.join().unwrap();
            if received > 0 {
                found.push(format!("{node} received {received} datagrams"));
            }
            let tables = on_node(&node, &["sh", "-c", "ip addr; ip route; ip -6 route; ip neigh"]);
            found.extend(
                TRACES.iter().filter(|trace| tables.contains(**trace)).map(|trace| format!("{node} has {trace}")),
            );
        }
        found
    }
}

/// The frames of a pod for a node, by one of its devices.
fn abuse(node: &str, device: &str) -> Vec<Frame> {
    let mac: Vec<u8> =
        on_node(node, &["sh", "-c", &format!("ip -o link show dev {device} | grep -o 'ether [^ ]*' | cut -c7-")])
            .trim()
            .split(':')
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect();
    let address = |node: &str| Station::of_node(node).address.parse().unwrap();
    let other = nodes().into_iter().find(|other| *other != node).unwrap_or(NODE);
    frames(&Target {
        mac: mac.try_into().unwrap(),
        ipv4: address(node),
        ipv6: "fd00::1".parse().unwrap(),
        beyond_ipv4: address(other),
        beyond_ipv6: "fd00::2".parse().unwrap(),
    })
}

fn devices(node: &str, kind: &str) -> Vec<String> {
    // The device of a bridge has no alias.
    let own = if kind == "tun" { ": br-" } else { "alias usnet" };
    let script = format!("ip -o link show type {kind} | grep '{own}' | cut -d' ' -f2 | cut -d@ -f1 | tr -d :");
    on_node(node, &["sh", "-c", &script]).lines().map(str::to_owned).collect()
}

/// A network with ports of this type, and a pod.
fn network(scene: &Scene, name: &str, (engine, port): (&str, &str), topology: Option<&Value>) -> Value {
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.66.0.0/16"}]]});
    let mut spec = json!({"engine": engine, "port": {"type": port}, "ipam": ipam});
    if let Some(topology) = topology {
        spec["topology"] = topology.clone();
        spec["ipam"]["nodePrefix"] = json!({"ipv4": 24});
    }
    scene.network(name, &spec);
    if port == "Veth" { pod_without_volume(scene, name, name) } else { sleeping_pod(scene, name, name) }
}

fn nothing_reaches_a_node(engine: &str, ports: &[&str], topology: Option<&Value>) {
    let name = format!("isolated-{}{}", engine.to_lowercase(), if topology.is_some() { "-overlay" } else { "" });
    let scene = Scene::new(&name);
    let named = |port: &&str| format!("{name}-{}", port.to_lowercase());
    for port in ports {
        apply(&network(&scene, &named(port), (engine, port), topology));
    }
    ports.iter().for_each(|port| wait_running(&scene, &named(port)));
    let mut all: Vec<Frame> = Vec::new();
    for (of, kind) in nodes().into_iter().flat_map(|node| ["veth", "vxlan", "tun"].map(|kind| (node, kind))) {
        all.extend(devices(of, kind).iter().flat_map(|device| abuse(of, device)));
    }
    assert!(!all.is_empty(), "{engine} has devices");
    let all = Arc::new(all);
    let mut senders: Vec<PodEndpoint> =
        ports.iter().map(|port| PodEndpoint::open(&scene, &named(port), port)).collect();
    for settings in &SETTINGS {
        let settings = Settings::set(settings);
        let listeners = Listeners::start();
        senders.iter_mut().for_each(|sender| sender.send(&all));
        assert_eq!(listeners.affected(), Vec::<String>::new(), "{engine}, {topology:?}, {:?}", settings.0);
    }
    drop(senders);
    ports.iter().for_each(|port| scene.delete_pod(&named(port)));
}

#[test]
fn no_frame_of_a_pod_has_an_effect_on_its_node() {
    for engine in ["OVS", "VPP"] {
        nothing_reaches_a_node(engine, &["Veth"], None);
    }
}

#[test]
fn no_frame_of_a_pod_has_an_effect_on_any_node_of_its_overlay() {
    let overlay = json!({"type": "Overlay", "overlay": {}});
    nothing_reaches_a_node("OVS", &["Veth", "VhostUser"], Some(&overlay));
    let has_packets = vpp::moves_packets("frames of programs at vhost-user ports and memifs");
    let ports: &[&str] = if has_packets { &["Veth", "VhostUser", "Memif"] } else { &["Veth"] };
    nothing_reaches_a_node("VPP", ports, Some(&overlay));
}

fn flush() {
    let mut batch = Batch::default();
    batch.delete_table(TABLE);
    Nftables::open().unwrap().commit(batch).unwrap();
}

/// Whether the node drops what arrives on the device for it.
fn is_isolated(device: &str) -> bool {
    let chains = Station::of_node(NODE).run(|| Nftables::open().unwrap().chains(TABLE).unwrap()).join().unwrap();
    chains.iter().any(|chain| chain.name == device && chain.drops && chain.devices == [device])
}

fn is_up(device: &str) -> bool {
    on_node(NODE, &["ip", "-o", "link", "show", "dev", device]).contains(",UP")
}

#[test]
fn the_nodes_end_of_an_interface_is_kept_up_and_isolated_and_a_missing_one_is_named() {
    for engine in ["OVS", "VPP"] {
        let name = format!("ends-{}", engine.to_lowercase());
        let scene = Scene::new(&name);
        let mut pod = network(&scene, &name, (engine, "Veth"), None);
        pod["spec"]["nodeName"] = json!(NODE);
        start(&scene, &pod);
        let [device] = <[String; 1]>::try_from(devices(NODE, "veth")).unwrap();
        assert!(is_isolated(&device));
        // As `nft flush ruleset` does.
        Station::of_node(NODE).run(flush).join().unwrap();
        on_node(NODE, &["ip", "link", "set", &device, "down"]);
        let patience = Duration::from_secs(2);
        eventually_within(patience, "it is up again", || check(is_up(&device), "down"));
        eventually_within(patience, "it is isolated again", || check(is_isolated(&device), "no chain"));
        on_node(NODE, &["ip", "link", "del", &device]);
        eventually_within(Duration::from_secs(10), "the node names the pod", || {
            let state = get(&["usns", NODE]).unwrap()["status"]["networks"].clone();
            check(state.to_string().contains("DeviceMissing"), state.to_string())
        });
        eventually("an event of the pod", || {
            let events = scene.events(&name);
            check(events.contains(&device), events)
        });
        eventually("it does not count as connected", || {
            let status = get(&["usn", &name]).unwrap()["status"].clone();
            check(status["attachments"] == 1 && status["connected"] == 0, status.to_string())
        });
        scene.delete_pod(&name);
    }
}
