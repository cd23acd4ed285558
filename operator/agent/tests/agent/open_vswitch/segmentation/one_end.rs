//! Two nodes in one overlay, of which one has a switch with segmentation offload.

use super::scene::{blue, broken, follow, leaves_checksums, pod, switch};
use crate::open_vswitch::overlays::{overlay, wait_until_programmed};
use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use std::net::IpAddr;
use std::time::Duration;
use usnet_crds::NodeNetwork;
use usnet_dataplane::network_file::NetworkFile;
use usnet_test_openvswitch::OpenVswitch;

const LIMIT: Duration = Duration::from_secs(20);
const BYTES: usize = 10_000_000;

struct Node {
    testbed: OvsTestbed,
    pod: Namespace,
    agent: RunningAgent,
}

/// The network of a node with this address, whose peer has the other one.
fn network(local: &str, peer: &str) -> NodeNetwork {
    let mut network = overlay("blue", 7001, &[peer]);
    network.port = blue().port;
    if let Some(overlay) = network.overlay.as_mut() {
        overlay.local = local.parse().unwrap();
    }
    network
}

impl Node {
    /// A node whose NIC is this one, and whose switch was started with this setting.
    fn start(ovs: OpenVswitch, (container, address): (&str, &str), network: &NodeNetwork) -> Self {
        let testbed = OvsTestbed::with(ovs);
        let paths = testbed.paths.clone().with_network_namespace(testbed.ovs.network_namespace());
        let pod = pod(&testbed, (container, address), network, |record| record);
        let agent = RunningAgent::start(&paths);
        agent.set_spec(1, std::slice::from_ref(network));
        wait_until_programmed(&agent, "blue");
        until("the pod has its port", || (testbed.vsctl("list-ports br-blue").lines().count() == 2).then_some(()));
        Self { testbed, pod, agent }
    }
}

/// With NICs that finish packets, as a pair of the kernel says that it does, and with such that do
/// not.
#[test]
fn tcp_between_a_node_with_segmentation_offload_and_one_without_passes_whole() {
    let [with, without] = ["true", "false"].map(|setting| switch(OpenVswitch::builder(), setting));
    let [one, other] = [&with, &without].map(|switch| Namespace::open(&switch.network_namespace()));
    one.ip(&format!("link add eth0 type veth peer name eth0 netns {}", other.path().display()));
    for (node, address) in [(&one, "10.0.0.1/24"), (&other, "10.0.0.2/24")] {
        node.ip(&format!("addr add {address} dev eth0"));
        node.ip("link set eth0 up");
    }
    let nodes = [
        Node::start(with, ("c1", "10.9.0.1/24"), &network("10.0.0.1", "10.0.0.2")),
        Node::start(without, ("c2", "10.9.0.2/24"), &network("10.0.0.2", "10.0.0.1")),
    ];
    until("the pod of the one leaves checksums", || {
        follow(&nodes[0].testbed);
        leaves_checksums(&nodes[0].pod, "net1").then_some(())
    });
    follow(&nodes[1].testbed);
    assert!(!leaves_checksums(&nodes[1].pod, "net1"));
    assert!(matches!(nodes[1].testbed.file("blue"), Some(NetworkFile::Programmed(file)) if !file.checksum_offload));

    let addresses = [[10, 9, 0, 1], [10, 9, 0, 2]].map(IpAddr::from);
    for nic in ["on", "off"] {
        one.output(&format!("ethtool -K eth0 tx {nic}"));
        other.output(&format!("ethtool -K eth0 tx {nic}"));
        for (from, to) in [(0, 1), (1, 0)] {
            let took = transfer(&nodes[from].pod, &nodes[to].pod, addresses[to], BYTES, LIMIT);
            assert!(took.is_some(), "from node {from}, offload of the NICs {nic}");
        }
    }
    assert_eq!(nodes.each_ref().map(|node| broken(&node.pod)), [0, 0]);
    assert_eq!([&one, &other].map(broken), [0, 0], "between the nodes");
    drop(nodes.map(|node| node.agent));
}
