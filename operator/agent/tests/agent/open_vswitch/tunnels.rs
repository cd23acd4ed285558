//! Networks that the switch encapsulates itself: two nodes, each with an Open vSwitch, an agent and
//! a NIC for it, which are connected by a cable.

use super::overlays::ip;
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::uplinks::{wait_for_uplink, wait_until_programmed};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::{Encapsulation, Mtu, NetworkUplink, NodeNetwork, NodeOverlay, NodeUnderlay, NodeUplink, VlanTag, Vni};

/// The bridge of the uplink, which is a device of the kernel as well.
const DEVICE: &str = "br-up-fab";

struct TestNode {
    /// The number of the node, which is the last one in its addresses.
    number: u8,
    agent: RunningAgent,
    testbed: OvsTestbed,
}

fn address(number: u8) -> IpAddr {
    [192, 168, 50, number].into()
}

fn fab() -> NodeUplink {
    let text =
        r#"{"name": "fab", "generation": 5, "engine": "OVS", "nic": {"device": {"type": "Name", "name": "eth1"}}}"#;
    serde_json::from_str(text).unwrap()
}

fn vlan(tag: i64) -> VlanTag {
    VlanTag::try_from(tag).unwrap()
}

fn overlay(name: &str, vni: i64, own: u8, peers: &[u8]) -> NodeNetwork {
    let underlay = NodeUnderlay { uplink: "fab".parse().unwrap(), vlan: Some(vlan(10)), prefix_length: 24 };
    let mut network = network(name);
    network.bridge.mtu = Mtu::try_from(1450).unwrap();
    network.overlay = Some(NodeOverlay {
        vni: Vni::try_from(vni).unwrap(),
        port: 4789.try_into().unwrap(),
        encapsulation: Encapsulation::Engine,
        underlay: Some(underlay),
        local: address(own),
        multicast_group: None,
        peers: Arc::new(peers.iter().map(|peer| address(*peer)).collect()),
    });
    network
}

impl TestNode {
    fn start(number: u8, testbed: OvsTestbed) -> Self {
        let paths = testbed.paths.clone().with_network_namespace(testbed.ovs.network_namespace());
        Self { number, agent: RunningAgent::start(&paths), testbed }
    }

    fn other(&self) -> u8 {
        3 - self.number
    }

    /// Networks `blue` and `red`.
    fn networks(&self) -> [NodeNetwork; 2] {
        [("blue", 7001), ("red", 7002)].map(|(name, vni)| overlay(name, vni, self.number, &[self.other()]))
    }

    fn set_spec(&self, revision: u32, networks: &[NodeNetwork]) {
        self.agent.set_spec_with_uplinks(revision, networks, &[fab()]);
    }

    fn wait_until_programmed(&self) {
        for network in ["blue", "red"] {
            wait_until_programmed(&self.agent, network);
        }
    }

    /// A stand-in for a pod: a device of the switch on the bridge of a network. It has a subnet of
    /// its own, because both stand-ins are in the network namespace of the node.
    fn add_pod(&self, network: &str) {
        let pod = format!("pod-{network}");
        self.testbed
            .vsctl(&format!("add-port br-{network} {pod} -- set Interface {pod} type=internal mtu_request=1450"));
        ip(&self.testbed, &format!("addr add 10.{}.0.{}/24 dev {pod}", network.len(), self.number));
        ip(&self.testbed, &format!("link set {pod} up"));
    }

    /// Whether the pod of the other node answers packets of this size, which are not fragmented.
    fn reaches(&self, network: &str, size: usize) -> bool {
        let address = format!("10.{}.0.{}", network.len(), self.other());
        let (pod, size) = (format!("pod-{network}"), size.to_string());
        let arguments = ["ping", "-q", "-c", "1", "-W", "1", "-s", &size, "-I", &pod, &address];
        let output = self.testbed.ovs.command("busybox").args(arguments).output().unwrap();
        output.status.success()
    }

    fn addresses(&self) -> String {
        ip(&self.testbed, &format!("-o -4 addr show dev {DEVICE}"))
    }

    fn has_address(&self) -> bool {
        self.addresses().contains(&format!("inet {}/24", address(self.number)))
    }

    /// The rows that usnet writes, with their versions.
    fn configuration(&self) -> [serde_json::Value; 3] {
        let columns = ["_uuid", "_version", "name"];
        [self.testbed.rows("Port", &columns), self.testbed.rows("Bridge", &columns), self.addresses().into()]
    }
}

/// Two nodes, whose second NICs are connected.
fn two_nodes() -> [TestNode; 2] {
    let [first, second] = [(); 2].map(|()| OvsTestbed::start());
    ip(&first, "link add eth1 type veth peer name wire");
    let [from, to] = [&first, &second].map(|node| node.ovs.network_namespace().display().to_string());
    let process = to.split('/').find(|part| part.parse::<u32>().is_ok()).unwrap();
    let enter = format!("--net={from}");
    // Process ids differ in the namespaces of a switch.
    let moved = Command::new("nsenter").args([&enter, "ip", "link", "set", "wire", "netns", process]).status();
    assert!(moved.unwrap().success());
    ip(&second, "link set wire name eth1");
    // A NIC has a carrier once the other end of its cable is up.
    for node in [&first, &second] {
        ip(node, "link set eth1 up");
    }
    [TestNode::start(1, first), TestNode::start(2, second)]
}

#[test]
fn a_network_reaches_another_node_through_vxlan_of_the_switch() {
    let nodes = two_nodes();
    for node in &nodes {
        node.set_spec(1, &node.networks());
        node.wait_until_programmed();
        assert!(node.has_address(), "{}", node.addresses());
        node.add_pod("blue");
    }
    let [first, second] = &nodes;
    until("the pods reach each other", || (first.reaches("blue", 56) && second.reaches("blue", 56)).then_some(()));
    // 1450 bytes without the headers of IPv4 and ICMP.
    assert!(first.reaches("blue", 1422), "a frame of the full MTU");
    let devices = ip(&first.testbed, "-o link show type vxlan");
    assert!(!devices.contains("usv-"), "the kernel has no part in it: {devices}");

    nodes.iter().for_each(|node| node.add_pod("red"));
    until("the pods of the other network reach each other", || first.reaches("red", 56).then_some(()));

    let before = first.configuration();
    first.set_spec(2, &first.networks());
    first.agent.wait_for_report("revision 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(first.configuration(), before, "a second pass has nothing to do");

    for name in ["pod-blue", "pod-red"] {
        first.testbed.vsctl(&format!("del-port {name}"));
    }
    first.set_spec(3, &[]);
    until("no bridge", || first.testbed.bridges().is_empty().then_some(()));
    // The switch removes the device of a bridge, and releases the NIC, after the rows are gone.
    until("no address", || (!ip(&first.testbed, "-o addr show").contains("192.168.50.")).then_some(()));
    let nic = ip(&first.testbed, "-d link show dev eth1");
    assert!(nic.contains("mtu 1500"), "{nic}");
}

#[test]
fn an_address_that_goes_is_set_again_and_one_that_is_not_needed_is_removed() {
    let [mut node, _other] = two_nodes();
    node.set_spec(1, &node.networks());
    node.wait_until_programmed();
    for change in [format!("addr flush dev {DEVICE}"), format!("link set {DEVICE} down")] {
        ip(&node.testbed, &change);
        let is_up = || ip(&node.testbed, &format!("-o link show dev {DEVICE}")).contains(",UP");
        until(&format!("it is repaired after {change}"), || (node.has_address() && is_up()).then_some(()));
        node.wait_until_programmed();
    }
    node.testbed.vsctl(&format!("del-br {DEVICE}"));
    until("the bridge and its address are there again", || {
        let has_bridge = node.testbed.bridges().contains(&DEVICE.to_owned());
        (has_bridge && node.has_address()).then_some(())
    });
    node.wait_until_programmed();
    node.testbed.ovs.kill_vswitchd().unwrap();
    node.testbed.ovs.start_vswitchd().unwrap();
    until("the address is there after a restart of the switch", || node.has_address().then_some(()));
    node.wait_until_programmed();

    // A network on the uplink keeps its bridge.
    let uplink = Some(NetworkUplink { name: "fab".parse().unwrap(), vlan: Some(vlan(100)) });
    let on_fab = NodeNetwork { uplink, ..network("green") };
    node.set_spec(2, &[node.networks()[0].clone(), on_fab.clone()]);
    until("the VLANs of both", || {
        (node.testbed.vsctl("--bare --columns=trunks find Port name=eth1") == "10 100").then_some(())
    });
    ip(&node.testbed, &format!("addr add 172.16.0.1/24 dev {DEVICE}"));
    node.set_spec(3, &[on_fab]);
    until("no address", || (!node.has_address()).then_some(()));
    assert!(node.addresses().contains("172.16.0.1"), "an address of others stays");
    assert_eq!(node.testbed.vsctl("--bare --columns=trunks find Port name=eth1"), "100");
}

#[test]
fn what_hinders_an_overlay_of_the_switch_is_said() {
    let [node, _other] = two_nodes();
    ip(&node.testbed, "link set eth1 mtu 1499");
    node.set_spec(1, &node.networks());
    let large = node.agent.wait_for_network("blue", "is too large", |entry| entry.reason == "MtuTooLarge").message;
    for part in ["1450", "50 bytes of VXLAN", "eth1", "bridge.mtu to 1449"] {
        assert!(large.contains(part), "{large}");
    }
    ip(&node.testbed, "link set eth1 mtu 1500");
    node.wait_until_programmed();

    // The network that requests the VLAN comes second.
    let uplink = Some(NetworkUplink { name: "fab".parse().unwrap(), vlan: Some(vlan(10)) });
    let [blue, red] = node.networks();
    node.set_spec(2, &[blue.clone(), NodeNetwork { uplink, ..network("green") }, red.clone()]);
    let taken = node.agent.wait_for_network("green", "is refused", |entry| entry.reason == "VlanTaken").message;
    assert!(taken.contains("VLAN 10 belongs to the packets of overlays"), "{taken}");
    node.wait_until_programmed();
    node.set_spec(3, &[blue, red]);
    node.wait_until_programmed();

    ip(&node.testbed, "link del eth1");
    let lost = node.agent.wait_for_network("blue", "lost its NIC", |entry| entry.reason == "UplinkNotReady").message;
    assert!(lost.contains("uplink fab") && lost.contains("eth1"), "{lost}");
    assert!(node.testbed.is_programmed("blue"), "pods attach all the same");
    wait_for_uplink(&node.agent, "has failed", |entry| entry.state == UplinkState::Failed);
}

#[test]
fn a_network_changes_between_both_kinds_of_encapsulation_and_keeps_its_bridge() {
    let [node, _other] = two_nodes();
    ip(&node.testbed, "link add eth0 up type veth peer name wire0");
    ip(&node.testbed, "link set wire0 up");
    ip(&node.testbed, "addr add 10.0.0.1/24 dev eth0");
    node.set_spec(1, &node.networks());
    node.wait_until_programmed();
    node.add_pod("blue");
    let pod = node.testbed.vsctl("get Interface pod-blue _uuid ofport");
    let of_kernel = super::overlays::overlay("blue", 7001, &["10.0.0.2"]);
    node.set_spec(2, &[of_kernel, node.networks()[1].clone()]);
    let devices = || ip(&node.testbed, "-o link show type vxlan");
    let tunnels = || node.testbed.vsctl("--bare --columns=name find Interface type=vxlan").split_whitespace().count();
    until("a device of the kernel and one tunnel", || (devices().contains("usv-") && tunnels() == 1).then_some(()));
    node.wait_until_programmed();
    node.set_spec(3, &node.networks());
    until("no device and two tunnels", || (!devices().contains("usv-") && tunnels() == 2).then_some(()));
    node.wait_until_programmed();
    assert_eq!(node.testbed.vsctl("get Interface pod-blue _uuid ofport"), pod);
}
