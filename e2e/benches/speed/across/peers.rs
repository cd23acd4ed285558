//! One peer more in an overlay that has a hundred, from when the agent is told to the entry in the
//! kernel, against the one netlink message that it is.

use super::is_short;
use super::nodes::Node;
use super::raw::Devices;
use super::usnet;
use crate::report::lines::{ratio, report};
use crate::report::statistics::median;
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};
use usnet_crds::NodeNetwork;
use usnet_dataplane::links::{KernelLinks, Links};

const PEERS: u16 = 100;
const TURNS: u16 = 20;
const PATIENCE: Duration = Duration::from_secs(60);
/// Other overlays of the node with as many peers.
const OTHERS: i64 = 100;

pub(crate) fn run() {
    let turns = if is_short() { 2 } else { TURNS };
    let raw = raw(turns);
    let (alone, among) = (agent(turns, 0), agent(turns, if is_short() { 2 } else { OTHERS }));
    println!("\nOne peer more in an overlay with {PEERS}, median of {turns}");
    report("one netlink message", median(&raw));
    report("agent: from being told to the entry in the kernel", median(&alone));
    report(
        &format!("agent: the same with {OTHERS} more overlays that get it as well, until all have it"),
        median(&among),
    );
    ratio("agent / netlink messages of all these overlays", median(&among), median(&raw) * 101, "as small as can be");
}

fn raw(turns: u16) -> Vec<Duration> {
    let node = Node::alone();
    node.within(|| {
        let mut devices = Devices::open();
        let device = devices.create("vx0", 7001, node.address);
        usnet::peers(PEERS).for_each(|peer| devices.add_peer(device, peer));
        let more = usnet::peers(PEERS + turns).skip(usize::from(PEERS));
        more.map(|peer| {
            let start = Instant::now();
            devices.add_peer(device, peer);
            start.elapsed()
        })
        .collect()
    })
}

fn agent(turns: u16, others: i64) -> Vec<Duration> {
    let node = Node::alone();
    let mut agent = usnet::agent(&node);
    let networks = |peers: u16| -> Vec<NodeNetwork> {
        let network = |number| {
            let name = format!("net-{number}");
            usnet::overlay((node.kind(), &name), 7000 + number, node.address, usnet::peers(peers))
        };
        (0..=others).map(network).collect()
    };
    let first = networks(PEERS);
    agent.tell(&first);
    agent.wait(&first, true);
    let mut links = KernelLinks::open(Some(&node.namespace)).expect("a netlink socket");
    let mut all_have = |peers: u16| {
        let observed = links.observe(&BTreeSet::new()).expect("the devices");
        observed.vxlans.values().all(|device| device.peers.len() == usize::from(peers))
    };
    let add = |peers: u16| {
        let networks = networks(peers);
        let start = Instant::now();
        agent.tell(&networks);
        while !all_have(peers) {
            assert!(start.elapsed() < PATIENCE, "the agent adds no peer");
            thread::sleep(Duration::from_micros(200));
        }
        start.elapsed()
    };
    (PEERS + 1..=PEERS + turns).map(add).collect()
}
