//! Checksums and the splitting of packets, which kernel pods leave to a switch that finishes them.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use std::net::IpAddr;
use std::time::Duration;
use usnet_crds::{NodeNetwork, PortType};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::{DeviceName, PortBackend};
use usnet_dataplane::testing::attachment;
use usnet_node::checksums::Follower;
use usnet_test_openvswitch::OpenVswitch;

const SETTING: &str = "other_config:userspace-tso-enable";
const LIMIT: Duration = Duration::from_secs(20);

/// Two kernel pods on the bridge of network blue.
struct Scene {
    testbed: OvsTestbed,
    agent: RunningAgent,
    pods: [Namespace; 2],
}

fn blue() -> NodeNetwork {
    let mut blue = network("blue");
    blue.port.port_type = PortType::Veth;
    blue
}

impl Scene {
    /// With a switch that was started with this setting.
    fn start(setting: &str) -> Self {
        let mut ovs = OpenVswitch::builder().without_vswitchd().start().unwrap();
        ovs.vsctl(&["--no-wait", "set", "Open_vSwitch", ".", &format!("{SETTING}={setting}")]).unwrap();
        ovs.start_vswitchd().unwrap();
        let testbed = OvsTestbed::with(ovs);
        let pods = [("c1", "10.9.0.1/24"), ("c2", "10.9.0.2/24")].map(|pod| self::pod(&testbed, pod, &blue(), |it| it));
        let agent = RunningAgent::start(&testbed.paths);
        agent.set_spec(1, &[blue()]);
        testbed.wait_until_programmed("blue");
        let scene = Self { testbed, agent, pods };
        until("both pods have their ports", || {
            (scene.testbed.vsctl("list-ports br-blue").lines().count() == 2).then_some(())
        });
        scene
    }

    /// Waits until the agent says whether pods may leave checksums to the switch.
    fn wait_until_allowed(&self, expected: bool) {
        until(&format!("checksums may be left: {expected}"), || match self.testbed.file("blue") {
            Some(NetworkFile::Programmed(file)) if file.checksum_offload == expected => Some(()),
            _ => None,
        });
    }

    fn set(&self, setting: &str) {
        self.testbed.vsctl(&format!("--no-wait set Open_vSwitch . {SETTING}={setting}"));
    }

    fn restart(&mut self) {
        self.testbed.ovs.kill_vswitchd().unwrap();
        self.agent.wait_for_connection("NotActing");
        self.testbed.ovs.start_vswitchd().unwrap();
        self.testbed.wait_until_programmed("blue");
    }

    /// One pass of the process beside the agent, which is in the network namespace of the node.
    fn follow(&self) {
        let mut follower = Follower::new(&self.testbed.paths);
        let node = Namespace::open(&self.testbed.ovs.network_namespace());
        node.run(move || follower.pass()).join().unwrap();
    }

    /// Whether the pods leave checksums to the switch, which both do or none.
    fn are_left(&self) -> bool {
        let of_pod = |pod: &Namespace| pod.output("ethtool -k net1").contains("tx-checksum-ip-generic: on");
        let [one, other] = self.pods.each_ref().map(of_pod);
        assert_eq!(one, other);
        one
    }

    /// How long this many bytes take by TCP.
    fn transfer(&self, bytes: usize) -> Option<Duration> {
        let [from, to] = &self.pods;
        transfer(from, to, IpAddr::from([10, 9, 0, 2]), bytes, LIMIT)
    }
}

/// A kernel pod with this name and address, with the pair and the record that the plugin leaves,
/// but for a change.
pub(super) fn pod(
    testbed: &OvsTestbed,
    (container, address): (&str, &str),
    network: &NodeNetwork,
    change: impl FnOnce(Record) -> Record,
) -> Namespace {
    let (node, pod) = (Namespace::open(&testbed.ovs.network_namespace()), Namespace::new());
    let device = DeviceName::of(&attachment(container));
    let name = device.as_str();
    node.ip(&format!("link add {name} type veth peer name net1 netns {}", pod.path().display()));
    node.ip(&format!("link set {name} up"));
    pod.ip(&format!("addr add {address} dev net1"));
    pod.ip("link set net1 up");
    for (namespace, device) in [(&node, name), (&pod, "net1")] {
        namespace.output(&format!("ethtool -K {device} tx off"));
    }
    let record = testbed.record(container, network, PortBackend::Device { device });
    testbed.write(&change(Record { network_namespace: pod.path(), ..record }));
    pod
}

/// Also: a switch that is configured for it, and does not do it before it starts again.
#[test]
fn pods_leave_checksums_to_a_switch_that_finishes_packets_and_only_to_that() {
    let mut scene = Scene::start("false");
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left());
    let whole = scene.transfer(20_000_000).expect("TCP");

    // While it is set and before the switch starts again kernel ports of Open vSwitch 3.1 pass
    // nothing.
    scene.set("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(!scene.are_left(), "the switch takes no unfinished packets from its devices yet");

    scene.restart();
    scene.wait_until_allowed(true);
    until("the switch reads the devices", || {
        scene.follow();
        scene.are_left().then_some(())
    });
    let left = scene.transfer(20_000_000).expect("TCP whose packets the switch finishes");
    // 8 times on an idle machine.
    assert!(left * 2 < whole, "{left:?} with and {whole:?} without");

    // Before the switch starts without it, not when packets are lost.
    scene.set("false");
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left());
    assert!(scene.transfer(1_000_000).is_some());
    scene.restart();
    assert!(scene.transfer(1_000_000).is_some());
}

/// As when the setting was changed while neither the agent nor the process beside it ran.
#[test]
fn a_switch_that_started_without_it_gets_whole_packets_again() {
    let mut scene = Scene::start("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left() && scene.transfer(1_000_000).is_some());
    // A killed switch that starts again as it was: nothing has to change.
    scene.restart();
    assert!(scene.are_left() && scene.transfer(1_000_000).is_some());

    scene.testbed.ovs.kill_vswitchd().unwrap();
    scene.agent.wait_for_connection("NotActing");
    scene.follow();
    assert!(scene.are_left(), "while there is no switch nothing is known");
    scene.set("false");
    scene.testbed.ovs.start_vswitchd().unwrap();
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left() && scene.transfer(1_000_000).is_some());
}

/// Open vSwitch 3.1 drops what a tunnel, AF_XDP or the program of a pod would have to finish.
#[test]
fn a_port_that_cannot_finish_packets_ends_it_for_the_bridge() {
    let scene = Scene::start("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left());
    let tunnel = "set Interface t1 type=vxlan options:remote_ip=127.0.0.2 options:key=7";
    scene.testbed.vsctl(&format!("--no-wait add-port br-blue t1 -- {tunnel}"));
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left() && scene.transfer(1_000_000).is_some());
    scene.testbed.vsctl("--no-wait del-port t1");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left());
}
