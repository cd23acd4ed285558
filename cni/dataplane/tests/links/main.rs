//! The devices of the kernel, in a network namespace of each test. Needs root.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod faults;
mod groups;
mod monitor;
mod nics;
mod pairs;
mod strangers;

use nix::sched::{CloneFlags, unshare};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use usnet_crds::{EngineKind, Mtu, NetworkName};
use usnet_dataplane::links::{
    DesiredVxlan, KernelLinks, LinkError, LinkOwner, Links, ObservedLinks, ObservedVxlan, blockers, diff, joinable,
};

const ENGINE: EngineKind = EngineKind::OpenVswitch;

/// A network namespace with one NIC, for the thread of one test.
struct Node {
    links: KernelLinks,
    desired: BTreeMap<NetworkName, DesiredVxlan>,
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

fn output_of(arguments: &str) -> String {
    let mut words = arguments.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output().expect("a program");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Node {
    fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        ip("link add eth0 up type veth peer name wire");
        ip("link set wire up");
        ip("addr add 10.0.0.1/24 dev eth0");
        ip("addr add fd00::1/64 dev eth0 nodad");
        Self { links: KernelLinks::open(None).expect("a socket"), desired: BTreeMap::new() }
    }

    /// Asks for an overlay with one peer.
    fn with(mut self, network: &str, vni: u32, local: &str) -> Self {
        let peer = if local.contains(':') { "fd00::2" } else { "10.0.0.2" };
        let peers = Arc::new([peer.parse().unwrap()].into());
        let (local, mtu) = (local.parse().unwrap(), Mtu::try_from(1400).unwrap());
        self.desired.insert(network.parse().unwrap(), DesiredVxlan { vni, port: 4789, local, peers, group: None, mtu });
        self
    }

    fn desired(&mut self, network: &str) -> &mut DesiredVxlan {
        self.desired.get_mut(&network.parse::<NetworkName>().unwrap()).expect("a network")
    }

    fn observe(&mut self) -> ObservedLinks {
        let addresses = self.desired.values().map(|device| device.local).collect();
        self.links.observe(&addresses).expect("the devices")
    }

    /// Applies one plan; returns its operations.
    fn apply(&mut self) -> Result<Vec<String>, LinkError> {
        let observed = self.observe();
        let operations = diff(ENGINE, &self.desired, &observed);
        operations.iter().try_for_each(|operation| self.links.apply(operation))?;
        Ok(operations.iter().map(ToString::to_string).collect())
    }

    /// Applies plans until nothing is left to do; the operations of all.
    fn converge(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..4 {
            let operations = self.apply().expect("no error");
            if operations.is_empty() {
                return all;
            }
            all.extend(operations);
        }
        panic!("the plan of an achieved state is not empty: {all:?}");
    }

    fn device(&mut self, network: &str) -> (u32, ObservedVxlan) {
        let owner = owner(network);
        let found = self.observe().vxlans.into_iter().find(|(_, device)| device.owner().as_ref() == Some(&owner));
        found.expect("a device of the network")
    }
}

fn owner(network: &str) -> LinkOwner {
    LinkOwner { engine: ENGINE, network: network.parse().unwrap() }
}

fn device(network: &str) -> String {
    owner(network).device().to_string()
}

#[test]
fn a_device_is_created_as_desired_and_a_second_plan_is_empty() {
    for (local, checksum) in [("10.0.0.1", "noudpcsum"), ("fd00::1", "udp6zerocsumtx")] {
        let mut node = Node::new().with("blue", 7001, local);
        assert_eq!(node.converge().len(), 1, "{local}");
        let name = device("blue");
        let details = output_of(&format!("ip -d link show {name}"));
        let settings = format!("vxlan id 7001 local {local} dev eth0 srcport 0 0 dstport 4789");
        for part in ["mtu 1400", "NOARP", "alias usnet OVS blue", &settings, checksum, "state UNKNOWN"] {
            assert!(details.contains(part), "{part}: {details}");
        }
        let (_, found) = node.device("blue");
        assert_eq!(found.peers, *node.desired("blue").peers);
        assert!(output_of(&format!("bridge fdb show dev {name}")).starts_with("00:00:00:00:00:00 dst"));
        let observed = node.observe();
        assert_eq!(joinable(ENGINE, &node.desired, &observed).len(), 1);
        assert!(blockers(ENGINE, &node.desired, &observed).is_empty());
    }
}

#[test]
fn the_node_takes_no_part_in_the_network() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let name = device("blue");
    assert_eq!(output_of(&format!("ip -6 addr show dev {name}")), "", "no address of its own");
    // They are those of the namespace of the thread that opens them.
    let setting = |setting: &str| {
        let file = format!("/proc/sys/net/ipv4/conf/{name}/{setting}");
        fs::read_to_string(file).expect("a setting").trim().to_owned()
    };
    let settings = ["forwarding", "rp_filter", "arp_ignore", "drop_unicast_in_l2_multicast"].map(setting);
    assert_eq!(settings, ["0", "1", "8", "1"]);
}

#[test]
fn drift_is_repaired_in_place_and_the_device_stays_the_same() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let (index, before) = node.device("blue");
    let name = device("blue");
    for change in
        [format!("link set {name} down"), format!("link set {name} mtu 1300"), format!("link set {name} arp on")]
    {
        ip(&change);
        assert_eq!(node.converge().len(), 1, "{change}");
    }
    ip(&format!("link set {name} down"));
    ip(&format!("link set {name} name other"));
    assert_eq!(node.converge().len(), 2, "renamed and set up");
    assert_eq!(node.device("blue"), (index, before));
}

#[test]
fn peers_come_and_go_without_another_change() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let peers: BTreeSet<IpAddr> = ["10.0.0.3", "10.0.0.4"].map(|peer| peer.parse().unwrap()).into();
    node.desired("blue").peers = Arc::new(peers.clone());
    let name = device("blue");
    assert_eq!(node.converge(), [format!("add 2 and remove 1 peers of VXLAN device {name} of network blue")]);
    assert_eq!(node.device("blue").1.peers, peers);
    let learned = format!("fdb append 02:00:00:00:00:09 dev {name} dst 10.0.0.9");
    assert!(Command::new("bridge").args(learned.split(' ')).status().unwrap().success());
    assert_eq!(node.converge(), Vec::<String>::new(), "an entry for one address is no peer");
}

#[test]
fn a_device_with_another_vni_is_deleted_and_created() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    node.desired("blue").vni = 7002;
    let operations = node.converge();
    assert!(operations[0].starts_with("delete") && operations[1].starts_with("create"), "{operations:?}");
    assert_eq!(node.device("blue").1.vni, 7002);
}

#[test]
fn only_own_devices_are_deleted() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    ip("link add vxlan0 type vxlan id 9 dstport 4789 local 10.0.0.1 dev eth0");
    node.converge();
    node.desired.clear();
    assert_eq!(node.converge().len(), 2, "the device and its pair");
    let left: Vec<String> = node.observe().vxlans.into_values().map(|device| device.name.to_string()).collect();
    assert_eq!(left, ["vxlan0"]);
}

#[test]
fn an_interrupted_creation_is_completed() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let name = device("blue");
    let index = node.device("blue").0;
    // As it is before the alias is set.
    ip(&format!("link set {name} down"));
    let output = Command::new("ip").args(["link", "set", &name, "alias", ""]).status().unwrap();
    assert!(output.success());
    assert_eq!(node.converge().len(), 1);
    assert_eq!(node.device("blue").0, index);
}
