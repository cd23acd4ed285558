//! Networks that VPP encapsulates itself: two nodes, each with a VPP and an agent, whose NICs are
//! the ends of one cable in the network namespace of the test.

use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use crate::support::uplinks::wait_until_programmed;
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use usnet_crds::{Encapsulation, Mtu, NodeNetwork, NodeOverlay, NodeUnderlay, NodeUplink, UdpPort, VlanTag, Vni};
use usnet_test_vpp::Kind;
use usnet_vpp::messages::SwInterfaceDetails;

const NICS: [&str; 2] = ["eth1", "eth2"];
const FRAMES: u64 = 50;
const BROADCAST: &str = "ffffffffffff0200000000010800";

struct TestNode {
    /// The number of the node, which is the last one in its address.
    number: u8,
    testbed: VppTestbed,
    agent: RunningAgent,
    _namespace: File,
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

fn address(number: u8) -> IpAddr {
    [192, 168, 50, number].into()
}

impl TestNode {
    fn start(kind: Kind, number: u8) -> Option<Self> {
        let testbed = VppTestbed::start(kind, &[])?;
        let namespace = File::open("/proc/thread-self/ns/net").unwrap();
        let path = format!("/proc/self/fd/{}", namespace.as_raw_fd());
        let agent = RunningAgent::start(&testbed.paths.clone().with_network_namespace(path));
        Some(Self { number, testbed, agent, _namespace: namespace })
    }

    fn other(&self) -> u8 {
        3 - self.number
    }

    fn fab(&self) -> NodeUplink {
        let [first, second] = NICS;
        let nic = if self.number == 1 { first } else { second };
        let device = format!(r#"{{"device": {{"type": "Name", "name": "{nic}"}}}}"#);
        let text = format!(r#"{{"name": "fab", "generation": 5, "engine": "VPP", "nic": {device}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    fn blue(&self) -> NodeNetwork {
        let vlan = Some(VlanTag::try_from(10).unwrap());
        let underlay = NodeUnderlay { uplink: "fab".parse().unwrap(), vlan, prefix_length: 24 };
        let mut network = network("blue");
        network.bridge.mtu = Mtu::try_from(1450).unwrap();
        network.overlay = Some(NodeOverlay {
            vni: Vni::try_from(7001).unwrap(),
            port: UdpPort::default(),
            encapsulation: Encapsulation::Engine,
            underlay: Some(underlay),
            local: address(self.number),
            multicast_group: None,
            peers: Arc::new([address(self.other())].into()),
        });
        network
    }

    fn set_spec(&self, revision: u32, networks: &[NodeNetwork]) {
        self.agent.set_spec_with_uplinks(revision, networks, &[self.fab()]);
    }

    fn wait_until_programmed(&self) {
        wait_until_programmed(&self.agent, "blue");
    }

    /// The tunnels of the network.
    fn tunnels(&self) -> Vec<SwInterfaceDetails> {
        let members = self.testbed.domains().remove(&domain_id(&self.blue()));
        let members = members.map(|domain| domain.sw_if_details).unwrap_or_default();
        let is_member = |found: &SwInterfaceDetails| {
            members.iter().any(|member| member.sw_if_index == found.sw_if_index && member.shg == 1)
        };
        self.testbed.interfaces().into_iter().filter(is_member).collect()
    }

    fn cli(&self, command: &str) -> String {
        self.testbed.vpp.cli(command).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// A loopback as a stand-in for a pod.
    fn add_pod(&self) {
        self.cli("create loopback interface instance 9");
        self.cli("set interface state loop9 up");
        self.cli(&format!("set interface l2 bridge loop9 {}", domain_id(&self.blue())));
    }

    fn send(&self) {
        let payload = "00".repeat(46);
        self.cli(&format!(
            "packet-generator new {{ name s limit {FRAMES} size 60-60 interface loop9 node ethernet-input \
             data {{ hex 0x{BROADCAST}{payload} }} }}"
        ));
        self.cli("packet-generator enable-stream s");
        until("the frames are sent", || (!self.cli("show packet-generator").contains("Yes")).then_some(()));
        self.cli("packet-generator delete s");
    }

    /// How many frames the tunnel has received.
    fn received(&self) -> u64 {
        let tunnels = self.tunnels();
        let [tunnel] = tunnels.as_slice() else { panic!("{tunnels:?}") };
        let observed = self.cli(&format!("show interface {}", tunnel.interface_name.as_str()));
        let count = observed.lines().find_map(|line| line.split("rx packets").nth(1));
        count.map_or(0, |count| count.trim().parse().unwrap())
    }
}

/// The name of the only tunnel.
fn name_of_tunnel(node: &TestNode) -> String {
    let tunnels = node.tunnels();
    let [tunnel] = tunnels.as_slice() else { panic!("{tunnels:?}") };
    tunnel.interface_name.to_string()
}

fn two_nodes(kind: Kind) -> Option<[TestNode; 2]> {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    let [first, second] = NICS;
    ip(&format!("link add {first} type veth peer name {second}"));
    let nodes = [TestNode::start(kind, 1)?, TestNode::start(kind, 2)?];
    for node in &nodes {
        node.set_spec(1, &[node.blue()]);
    }
    nodes.iter().for_each(TestNode::wait_until_programmed);
    Some(nodes)
}

fn nodes_are_connected_restored_and_disconnected(kind: Kind) {
    let Some(mut nodes) = two_nodes(kind) else { return };
    for node in &nodes {
        assert_eq!(node.tunnels().len(), 1);
    }
    let before = name_of_tunnel(&nodes[0]);
    nodes[0].testbed.vpp.kill().unwrap();
    nodes[0].testbed.vpp.start_again().unwrap();
    until("the tunnel is back", || (nodes[0].tunnels().len() == 1).then_some(()));
    nodes[0].wait_until_programmed();
    assert_eq!(name_of_tunnel(&nodes[0]), before);
    let [first, _] = &nodes;
    first.set_spec(2, &[]);
    until("VPP has let the NIC go", || (first.testbed.interfaces().len() == 1).then_some(()));
}

/// Resolves the neighbour first, because VPP drops packets until it is known.
fn frames_reach_the_other_node(kind: Kind) {
    let Some(mut nodes) = two_nodes(kind) else { return };
    for round in ["created", "restarted"] {
        if round == "restarted" {
            nodes[0].testbed.vpp.kill().unwrap();
            nodes[0].testbed.vpp.start_again().unwrap();
            until("the tunnel is back", || (nodes[0].tunnels().len() == 1).then_some(()));
            nodes[0].wait_until_programmed();
        }
        let answers = |node: &TestNode| {
            node.cli(&format!("ping {} repeat 1", address(node.other()))).contains("1 received").then_some(())
        };
        for node in &nodes {
            until("the other node answers", || answers(node));
        }
        let [first, second] = &nodes;
        first.add_pod();
        if round == "created" {
            second.add_pod();
        }
        for (from, to) in [(first, second), (second, first)] {
            let before = to.received();
            from.send();
            until("all frames arrived", || (to.received() >= before + FRAMES).then_some(()));
            assert_eq!(to.received(), before + FRAMES, "{round}");
        }
    }
}

#[test]
fn nodes_are_connected_restored_and_disconnected_by_the_simulator() {
    nodes_are_connected_restored_and_disconnected(Kind::Simulator);
}

#[test]
fn nodes_are_connected_restored_and_disconnected_by_vpp() {
    nodes_are_connected_restored_and_disconnected(Kind::Real);
}

#[test]
fn frames_reach_the_other_node_through_vpp() {
    frames_reach_the_other_node(Kind::Real);
}
