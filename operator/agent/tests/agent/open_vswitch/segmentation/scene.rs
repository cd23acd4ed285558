//! Two kernel pods on the bridge of network blue, of a switch with segmentation offload or without.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use std::net::IpAddr;
use std::time::Duration;
use usnet_crds::{NodeNetwork, PortType};
use usnet_dataplane::attachment::{Address, Record};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::{DeviceName, PortBackend};
use usnet_dataplane::testing::attachment;
use usnet_node::checksums::Follower;
use usnet_test_openvswitch::{Builder, OpenVswitch};

const SETTING: &str = "other_config:userspace-tso-enable";
const LIMIT: Duration = Duration::from_secs(20);
/// The offload by which a pod leaves checksums, and with them the splitting of packets, to others.
const CHECKSUMS: &str = "tx-checksum-ip-generic";

pub(crate) struct Scene {
    pub(crate) testbed: OvsTestbed,
    pub(super) agent: RunningAgent,
    pub(super) pods: [Namespace; 2],
}

pub(super) fn blue() -> NodeNetwork {
    let mut blue = network("blue");
    blue.port.port_type = PortType::Veth;
    blue
}

/// A switch that starts with this setting.
pub(super) fn switch(builder: Builder, setting: &str) -> OpenVswitch {
    let mut switch = builder.without_vswitchd().start().unwrap();
    switch.vsctl(&["--no-wait", "set", "Open_vSwitch", ".", &format!("{SETTING}={setting}")]).unwrap();
    switch.start_vswitchd().unwrap();
    switch
}

impl Scene {
    /// With a switch that was started with this setting.
    pub(super) fn start(setting: &str) -> Self {
        Self::with(OpenVswitch::builder(), setting, &blue())
    }

    pub(super) fn with(builder: Builder, setting: &str, network: &NodeNetwork) -> Self {
        let testbed = OvsTestbed::with(switch(builder, setting));
        let pods = [("c1", "10.9.0.1/24"), ("c2", "10.9.0.2/24")].map(|it| pod(&testbed, it, network, |record| record));
        let agent = RunningAgent::start(&testbed.paths);
        agent.set_spec(1, std::slice::from_ref(network));
        if network.policies == usnet_crds::Policies::Enabled {
            // What is sent before the agent needs policies is forgotten.
            agent.wait_for_network("blue", "needs policies", |entry| entry.reason == "PoliciesUnknown");
            agent.set_policies(Vec::new());
        }
        testbed.wait_until_programmed("blue");
        let scene = Self { testbed, agent, pods };
        until("both pods have their ports", || {
            (scene.testbed.vsctl("list-ports br-blue").lines().count() == 2).then_some(())
        });
        scene
    }

    /// Waits until the agent says whether pods may leave checksums to the switch.
    pub(super) fn wait_until_allowed(&self, expected: bool) {
        until(&format!("checksums may be left: {expected}"), || match self.testbed.file("blue") {
            Some(NetworkFile::Programmed(file)) if file.checksum_offload == expected => Some(()),
            _ => None,
        });
    }

    /// Waits until the pods leave checksums to the switch.
    pub(super) fn wait_until_left(&self) {
        self.wait_until_allowed(true);
        until("the switch reads the devices", || {
            self.follow();
            self.are_left().then_some(())
        });
    }

    pub(super) fn set(&self, setting: &str) {
        self.testbed.vsctl(&format!("--no-wait set Open_vSwitch . {SETTING}={setting}"));
    }

    pub(super) fn restart(&mut self) {
        self.testbed.ovs.kill_vswitchd().unwrap();
        self.agent.wait_for_connection("NotActing");
        self.testbed.ovs.start_vswitchd().unwrap();
        self.testbed.wait_until_programmed("blue");
    }

    pub(super) fn follow(&self) {
        follow(&self.testbed);
    }

    /// Whether the pods leave checksums to the switch, which both do or none.
    pub(super) fn are_left(&self) -> bool {
        let [one, other] = self.pods.each_ref().map(|pod| leaves_checksums(pod, "net1"));
        assert_eq!(one, other);
        one
    }

    /// How long this many bytes take by TCP.
    pub(super) fn transfer(&self, bytes: usize) -> Option<Duration> {
        let [from, to] = &self.pods;
        transfer(from, to, IpAddr::from([10, 9, 0, 2]), bytes, LIMIT)
    }

    /// In how many packets this many bytes arrive by TCP. Those of 64 KiB are one each.
    pub(super) fn packets_of(&self, bytes: usize) -> u64 {
        let before = received(&self.pods[1]);
        self.transfer(bytes).expect("TCP");
        received(&self.pods[1]) - before
    }

    /// How long a few bytes take by TCP.
    pub(super) fn transfer_within(&self, limit: Duration) -> Option<Duration> {
        let [from, to] = &self.pods;
        transfer(from, to, IpAddr::from([10, 9, 0, 2]), 100_000, limit)
    }
}

/// One pass of the process beside the agent, which is in the network namespace of the node.
pub(super) fn follow(testbed: &OvsTestbed) {
    let mut follower = Follower::new(&testbed.paths);
    let node = Namespace::open(&testbed.ovs.network_namespace());
    node.run(move || follower.pass()).join().unwrap();
}

/// Whether a pod leaves the checksums of what it sends by an interface to others.
pub(super) fn leaves_checksums(pod: &Namespace, interface: &str) -> bool {
    pod.output(&format!("ethtool -k {interface}")).contains(&format!("{CHECKSUMS}: on"))
}

/// How many packets a pod has received.
fn received(pod: &Namespace) -> u64 {
    let counters = pod.output("cat /proc/net/dev");
    let of_device = counters.lines().find_map(|line| line.trim().strip_prefix("net1:"));
    of_device.unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many packets the kernel of a pod has dropped because of their checksums.
pub(super) fn broken(pod: &Namespace) -> u64 {
    let counters = pod.output("cat /proc/net/snmp");
    let lines: Vec<Vec<&str>> = counters.lines().map(|line| line.split_whitespace().collect()).collect();
    let of = |pair: &[Vec<&str>]| {
        let [names, values] = pair else { panic!("{counters}") };
        let place = names.iter().position(|name| *name == "InCsumErrors")?;
        values.get(place)?.parse::<u64>().ok()
    };
    lines.chunks(2).filter_map(of).sum()
}

/// A kernel pod with this name and address, with the pair and the record that the plugin leaves,
/// but for a change.
pub(crate) fn pod(
    testbed: &OvsTestbed,
    (container, address): (&str, &str),
    network: &NodeNetwork,
    change: impl FnOnce(Record) -> Record,
) -> Namespace {
    let (node, pod) = (Namespace::open(&testbed.ovs.network_namespace()), Namespace::new());
    let device = DeviceName::of(&attachment(container));
    let (name, (ip, prefix)) = (device.as_str(), address.split_once('/').unwrap());
    let mac = format!("02:00:00:00:00:{:02x}", ip.rsplit('.').next().unwrap().parse::<u8>().unwrap());
    let mtu = network.bridge.mtu.get();
    node.ip(&format!(
        "link add {name} mtu {mtu} type veth peer name net1 mtu {mtu} address {mac} netns {}",
        pod.path().display()
    ));
    node.ip(&format!("link set {name} alias usnet:{}", attachment(container)));
    node.ip(&format!("link set {name} up"));
    pod.ip(&format!("addr add {address} dev net1"));
    pod.ip("link set net1 up");
    for (namespace, device) in [(&node, name), (&pod, "net1")] {
        namespace.output(&format!("ethtool -K {device} tx off"));
    }
    let record = testbed.record(container, network, PortBackend::Device { device: device.clone() });
    let addresses = vec![Address { ip: ip.parse().unwrap(), prefix: prefix.parse().unwrap() }];
    testbed.write(&change(Record { network_namespace: pod.path(), mac, addresses, ..record }));
    pod
}
