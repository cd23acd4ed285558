//! Networks that connect nodes: VXLAN devices in the node's network namespace.

use super::testbed::OvsTestbed;
use crate::support::node::{SOON, network, until};
use crate::support::running_agent::RunningAgent;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Encapsulation, Mtu, NodeNetwork, NodeOverlay, Phase, UdpPort, Vni};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::DeviceName;

/// A node with one NIC.
pub(super) fn start() -> (OvsTestbed, NodePaths) {
    let testbed = OvsTestbed::start();
    ip(&testbed, "link add eth0 up type veth peer name wire");
    ip(&testbed, "link set wire up");
    ip(&testbed, "addr add 10.0.0.1/24 dev eth0");
    let paths = testbed.paths.clone().with_network_namespace(testbed.ovs.network_namespace());
    (testbed, paths)
}

pub(super) fn ip(testbed: &OvsTestbed, arguments: &str) -> String {
    let output = testbed.ovs.command("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn overlay(name: &str, vni: i64, peers: &[&str]) -> NodeNetwork {
    let peers: BTreeSet<IpAddr> = peers.iter().map(|peer| peer.parse().unwrap()).collect();
    let mut network = network(name);
    network.bridge.mtu = Mtu::try_from(1450).unwrap();
    network.overlay = Some(NodeOverlay {
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        vni: Vni::try_from(vni).unwrap(),
        port: UdpPort::default(),
        local: "10.0.0.1".parse().unwrap(),
        multicast_group: None,
        peers: Arc::new(peers),
    });
    network
}

/// The device that the switch has.
fn device(name: &str) -> String {
    DeviceName::of_network(&name.parse().unwrap()).to_string()
}

fn vxlan(name: &str) -> String {
    DeviceName::of_vxlan(&name.parse().unwrap()).to_string()
}

impl OvsTestbed {
    /// The VXLAN devices with their indexes and flags, one each line.
    pub(super) fn devices(&self) -> Vec<String> {
        ip(self, "-o link show type vxlan").lines().map(str::to_owned).collect()
    }

    /// The index with which a network's device was joined.
    fn joined(&self, name: &str) -> Option<String> {
        let port = format!("name={}", device(name));
        let observed = self.vsctl(&format!("--bare --columns=external_ids find Port {port}"));
        let index = observed.split_whitespace().find_map(|pair| pair.strip_prefix("usnet.dev/device-index="));
        index.map(str::to_owned)
    }

    /// Whether the devices exist and are up, and the switch has joined the right one.
    fn is_joined(&self, name: &str) -> bool {
        let Some(index) = self.joined(name) else { return false };
        let (joined, inner) = (format!("{index}: {}@", device(name)), format!(": {}: ", vxlan(name)));
        let is_up = |line: &str| line.contains(",UP") && line.contains("mtu 1450");
        let all = ip(self, "-o link show");
        all.lines().any(|line| line.starts_with(&joined) && is_up(line))
            && all.lines().any(|line| line.contains(&inner) && is_up(line))
    }

    fn peers(&self, name: &str) -> usize {
        let output = self.ovs.command("bridge").args(["fdb", "show", "dev", &vxlan(name)]).output().unwrap();
        let observed = String::from_utf8_lossy(&output.stdout).into_owned();
        observed.lines().filter(|line| line.starts_with("00:00:00:00:00:00 dst")).count()
    }
}

pub(super) fn wait_until_programmed(agent: &RunningAgent, name: &str) {
    agent.wait_for_network(name, "is programmed", |entry| entry.state == NetworkState::Programmed);
}

#[test]
fn a_network_gets_a_device_and_loses_it_with_its_port() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2", "10.0.0.3"]), network("green")]);
    wait_until_programmed(&agent, "blue");
    assert!(testbed.is_joined("blue"));
    assert_eq!((testbed.devices().len(), testbed.peers("blue")), (1, 2));
    let interface = testbed.vsctl(&format!("--bare --columns=type,mtu_request,mtu list Interface {}", device("blue")));
    assert_eq!(interface.split_whitespace().collect::<Vec<_>>(), ["system", "1450"]);

    // A peer that comes or goes does not touch the switch.
    let columns = ["_uuid", "_version", "name"];
    let rows = (testbed.rows("Port", &columns), testbed.rows("Bridge", &columns));
    let configuration = testbed.vsctl("get Open_vSwitch . next_cfg");
    agent.set_spec(2, &[overlay("blue", 7001, &["10.0.0.3"]), network("green")]);
    until("one peer", || (testbed.peers("blue") == 1).then_some(()));
    agent.wait_for_report("revision 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!((testbed.rows("Port", &columns), testbed.rows("Bridge", &columns)), rows);
    assert_eq!(testbed.vsctl("get Open_vSwitch . next_cfg"), configuration);

    agent.set_spec(3, &[network("green")]);
    until("no device", || testbed.devices().is_empty().then_some(()));
    assert_eq!(testbed.joined("blue"), None, "the port went first");
    until("no pair", || (!ip(&testbed, "-o link show").contains(&device("blue"))).then_some(()));
    assert_eq!(testbed.bridges(), ["br-green"]);
}

#[test]
fn a_draining_network_stays_joined_until_it_is_no_longer_desired() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    let mut blue = overlay("blue", 7001, &["10.0.0.2"]);
    agent.set_spec(1, std::slice::from_ref(&blue));
    wait_until_programmed(&agent, "blue");
    let (devices, index) = (testbed.devices(), testbed.joined("blue"));
    blue.phase = Phase::Draining;
    agent.set_spec(2, &[blue]);
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert_eq!((testbed.devices(), testbed.joined("blue")), (devices, index));
    agent.set_spec(3, &[]);
    until("no device", || testbed.devices().is_empty().then_some(()));
}

#[test]
fn a_restarted_agent_changes_nothing_and_removes_what_is_no_longer_desired() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    drop(agent);
    let (devices, index) = (testbed.devices(), testbed.joined("blue"));
    let agent = RunningAgent::start(&paths);
    agent.set_spec(2, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    assert_eq!((testbed.devices(), testbed.joined("blue")), (devices, index));
    drop(agent);
    let agent = RunningAgent::start(&paths);
    agent.set_spec(3, &[]);
    until("no device", || testbed.devices().is_empty().then_some(()));
}

#[test]
fn a_device_that_others_change_is_repaired_at_once() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    let changes = [vxlan("blue"), device("blue")].into_iter().flat_map(|name| {
        [
            format!("link set {name} down"),
            format!("link set {name} mtu 1300"),
            format!("link set {name} name other"),
            format!("link del {name}"),
        ]
    });
    let repairs = || agent.metric("usnet_agent_repairs_total", usnet_crds::EngineKind::OpenVswitch);
    let before = repairs();
    for change in changes {
        ip(&testbed, &change);
        let start = Instant::now();
        let is_repaired = || (testbed.is_joined("blue") && testbed.peers("blue") == 1).then_some(());
        until(&format!("it is repaired after {change}"), is_repaired);
        assert!(start.elapsed() < SOON, "{change}: {:?}", start.elapsed());
        wait_until_programmed(&agent, "blue");
    }
    // Not each: a change may come while the agent still looks at the repair of the last one.
    until("repairs are counted", || (repairs() >= before + 4.0).then_some(()));
}

/// Earlier versions joined the VXLAN device itself.
#[test]
fn a_network_of_an_earlier_version_is_joined_by_a_pair_and_keeps_its_vxlan_device() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    drop(agent);
    let before = testbed.devices();
    let (port, old) = (device("blue"), vxlan("blue"));
    let ids = testbed.vsctl(&format!("get Port {port} external_ids"));
    let index = testbed.joined("blue").unwrap();
    let old_index = before[0].split(':').next().unwrap();
    let ids = ids.trim().replace(&format!("\"{index}\""), &format!("\"{old_index}\"")).replace(", ", ",");
    ip(&testbed, &format!("link del {port}"));
    testbed.vsctl(&format!("del-port {port}"));
    testbed.vsctl(&format!("add-port br-blue {old} -- set Port {old} external_ids={ids}"));

    let agent = RunningAgent::start(&paths);
    agent.set_spec(2, &[overlay("blue", 7001, &["10.0.0.2"])]);
    until("it is joined by a pair", || testbed.is_joined("blue").then_some(()));
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.devices(), before);
    assert_eq!(testbed.vsctl("list-ports br-blue").trim(), port, "the earlier port is gone");
}

#[test]
fn another_vni_is_another_device() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2"])]);
    wait_until_programmed(&agent, "blue");
    let first = testbed.devices();
    agent.set_spec(2, &[overlay("blue", 7002, &["10.0.0.2"])]);
    until("another device", || {
        let devices = testbed.devices();
        (devices.len() == 1 && devices != first && testbed.is_joined("blue")).then_some(())
    });
    assert!(ip(&testbed, &format!("-d link show {}", vxlan("blue"))).contains("vxlan id 7002"));
    wait_until_programmed(&agent, "blue");
}
