//! Networks on uplinks: NICs in the network namespace of VPP.

use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::{SOON, until};
use crate::support::running_agent::RunningAgent;
use crate::support::uplinks::{wait_for_reason, wait_for_uplink, wait_until_programmed};
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Instant;
use usnet_crds::node_state::NetworkState;
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::{NetworkUplink, NodeNetwork, NodeUplink, VlanTag};
use usnet_dataplane::paths::NodePaths;
use usnet_test_vpp::Kind;
use usnet_vpp::messages::{AfPacketDelete, DeleteSubif, IfStatusFlags, SwInterfaceDetails, SwInterfaceSetFlags};
use usnet_vpp::wire::FixedText;

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A NIC that is down.
fn create_nic() {
    ip("link add eth1 type veth peer name wire");
    ip("link set wire up");
    let gro = Command::new("ethtool").args(["-K", "eth1", "gro", "on"]).status().unwrap();
    assert!(gro.success());
}

fn on_fab(name: &str, vlan: Option<i64>) -> NodeNetwork {
    let vlan = vlan.map(|tag| VlanTag::try_from(tag).unwrap());
    let uplink = Some(NetworkUplink { name: "fab".parse().unwrap(), vlan });
    NodeNetwork { uplink, ..network(name) }
}

fn fab() -> [NodeUplink; 1] {
    let text =
        r#"{"name": "fab", "generation": 5, "engine": "VPP", "nic": {"device": {"type": "Name", "name": "eth1"}}}"#;
    [serde_json::from_str(text).unwrap()]
}

/// Runs in a network namespace of the test, which VPP and the agent share.
struct Scene {
    testbed: VppTestbed,
    paths: NodePaths,
    _namespace: File,
}

impl Scene {
    fn start(kind: Kind) -> Option<Self> {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        create_nic();
        let testbed = VppTestbed::start(kind, &[])?;
        let namespace = File::open("/proc/thread-self/ns/net").unwrap();
        let path = format!("/proc/self/fd/{}", namespace.as_raw_fd());
        let paths = testbed.paths.clone().with_network_namespace(path);
        Some(Self { testbed, paths, _namespace: namespace })
    }

    fn interface(&self, name: &str) -> Option<SwInterfaceDetails> {
        self.testbed.interfaces().into_iter().find(|found| found.interface_name.as_str() == name)
    }

    fn index(&self, name: &str) -> u32 {
        self.interface(name).expect("an interface").sw_if_index
    }

    /// Whether an interface is up and in the bridge domain of a network.
    fn has(&self, network: &NodeNetwork, interface: &str) -> bool {
        let Some(found) = self.interface(interface) else { return false };
        let members = self.testbed.domains().remove(&domain_id(network)).map(|domain| domain.sw_if_details);
        let is_member = members.into_iter().flatten().any(|member| member.sw_if_index == found.sw_if_index);
        is_member && found.flags.contains(IfStatusFlags::ADMIN_UP)
    }

    /// Whether VPP has the NIC of the node, and the NIC is promiscuous and merges no packets.
    fn has_nic(&self) -> bool {
        let output = Command::new("ip").args(["-o", "-d", "link", "show", "dev", "eth1"]).output().unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let index = output.split(':').next().and_then(|index| index.parse::<u32>().ok());
        let joined = self.interface("host-eth1").filter(|found| found.flags.contains(IfStatusFlags::ADMIN_UP));
        let is_it =
            joined.zip(index).is_some_and(|(joined, index)| joined.tag.as_str() == format!("usnet^fab^{index:x}"));
        is_it && output.contains(",UP") && output.contains("PROMISC") && !merges()
    }
}

/// Whether the NIC merges packets that it receives.
fn merges() -> bool {
    let output = Command::new("ethtool").args(["-k", "eth1"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("generic-receive-offload: on")
}

/// Whether the NIC is restored, but still up.
fn is_released() -> bool {
    let output = ip("-o link show dev eth1");
    output.contains(",UP") && !output.contains("PROMISC") && merges()
}

fn networks_are_connected_and_the_last_one_leaves_the_nic_up(kind: Kind) {
    let Some(scene) = Scene::start(kind) else { return };
    let (blue, red) = (on_fab("blue", Some(100)), on_fab("red", None));
    let agent = RunningAgent::start(&scene.paths);
    agent.set_spec_with_uplinks(1, &[blue.clone(), red.clone()], &fab());
    wait_until_programmed(&agent, "blue");
    wait_until_programmed(&agent, "red");
    assert!(scene.has_nic() && scene.has(&blue, "host-eth1.100") && scene.has(&red, "host-eth1"));
    let entry = wait_for_uplink(&agent, "is reported", |_| true);
    assert_eq!((entry.generation, entry.nic.as_str(), entry.reason.as_str()), (5, "eth1", ""));

    // A restarted agent changes nothing.
    drop(agent);
    let before = scene.testbed.interfaces();
    let agent = RunningAgent::start(&scene.paths);
    agent.set_spec_with_uplinks(2, &[blue.clone(), red], &fab());
    wait_until_programmed(&agent, "blue");
    wait_until_programmed(&agent, "red");
    assert_eq!(scene.testbed.interfaces(), before);

    agent.set_spec_with_uplinks(3, &[blue.clone(), network("red")], &fab());
    until("it has left", || (scene.interface("host-eth1.4095").is_none()).then_some(()));
    assert!(scene.has_nic() && scene.has(&blue, "host-eth1.100"));
    agent.set_spec_with_uplinks(4, &[network("red")], &fab());
    until("VPP has let the NIC go", || scene.interface("host-eth1").is_none().then_some(()));
    until("the NIC is up", || is_released().then_some(()));
    wait_for_uplink(&agent, "is programmed without networks", |entry| entry.state == UplinkState::Programmed);

    // Network and uplink are deleted while no agent runs.
    agent.set_spec_with_uplinks(5, std::slice::from_ref(&blue), &fab());
    wait_until_programmed(&agent, "blue");
    drop(agent);
    let agent = RunningAgent::start(&scene.paths);
    agent.set_spec_with_uplinks(6, &[], &[]);
    until("VPP has let the NIC go", || scene.interface("host-eth1").is_none().then_some(()));
    until("the NIC is up", || is_released().then_some(()));
}

fn a_nic_that_goes_and_comes_back_is_joined_again(kind: Kind) {
    let Some(scene) = Scene::start(kind) else { return };
    let blue = on_fab("blue", Some(100));
    let agent = RunningAgent::start(&scene.paths);
    agent.set_spec_with_uplinks(1, std::slice::from_ref(&blue), &fab());
    wait_until_programmed(&agent, "blue");

    ip("link del wire");
    let message = wait_for_reason(&agent, "NicLost");
    assert!(message.contains("eth1") && message.contains("connected again"), "{message}");
    create_nic();
    let start = Instant::now();
    until("it is joined again", || (scene.has_nic() && scene.has(&blue, "host-eth1.100")).then_some(()));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    wait_until_programmed(&agent, "blue");

    for command in ["link set eth1 down", "link set eth1 promisc off"] {
        ip(command);
        until(&format!("it is repaired after {command}"), || scene.has_nic().then_some(()));
        wait_until_programmed(&agent, "blue");
    }
    ip("link set wire down");
    assert!(wait_for_reason(&agent, "NicLost").contains("carrier"));
    ip("link set wire up");
    wait_until_programmed(&agent, "blue");

    let before = scene.testbed.interfaces();
    for command in ["link set eth1 down", "link set eth1 name eth9", "link set eth9 up"] {
        ip(command);
    }
    let message = wait_for_reason(&agent, "NicLost");
    assert!(message.contains("eth9"), "{message}");
    for command in ["link set eth9 down", "link set eth9 name eth1", "link set eth1 up"] {
        ip(command);
    }
    wait_until_programmed(&agent, "blue");
    assert_eq!(scene.testbed.interfaces(), before, "it was touched");
}

fn a_restart_and_what_others_change_is_repaired(kind: Kind) {
    let Some(mut scene) = Scene::start(kind) else { return };
    let (blue, red) = (on_fab("blue", Some(100)), on_fab("red", None));
    let agent = RunningAgent::start(&scene.paths);
    agent.set_spec_with_uplinks(1, &[blue.clone(), red.clone()], &fab());
    wait_until_programmed(&agent, "blue");
    let is_complete =
        |scene: &Scene| scene.has_nic() && scene.has(&blue, "host-eth1.100") && scene.has(&red, "host-eth1");
    scene.testbed.request(AfPacketDelete { host_if_name: FixedText::new("eth1").unwrap() });
    until("the NIC is back", || is_complete(&scene).then_some(()));
    let (sw_if_index, flags) = (scene.index("host-eth1.100"), IfStatusFlags::default());
    scene.testbed.request(SwInterfaceSetFlags { sw_if_index, flags });
    until("it is up", || is_complete(&scene).then_some(()));
    scene.testbed.request(DeleteSubif { sw_if_index: scene.index("host-eth1.100") });
    until("the network is connected", || is_complete(&scene).then_some(()));
    scene.testbed.vpp.kill().unwrap();
    scene.testbed.vpp.start_again().unwrap();
    until("all is back", || is_complete(&scene).then_some(()));
    wait_until_programmed(&agent, "blue");
    wait_until_programmed(&agent, "red");
}

fn each_reason_names_nic_and_remedy_and_passes(kind: Kind) {
    let Some(scene) = Scene::start(kind) else { return };
    let agent = RunningAgent::start(&scene.paths);
    ip("link set eth1 up");
    ip("link add br0 type bridge");
    let cases = [
        ("link set eth1 name eth5", "link set eth5 name eth1", "NicMissing", ["eth1", "spec.nics"]),
        ("addr add 10.0.0.7/24 dev eth1", "addr flush dev eth1", "NicCarriesNode", ["10.0.0.7", "another NIC"]),
        ("link set eth1 master br0", "link set eth1 nomaster", "NicCarriesNode", ["br0", "another NIC"]),
        ("link set eth1 mtu 1400", "link set eth1 mtu 1500", "", ["", ""]),
    ];
    for (revision, (change, restore, reason, parts)) in (1..).step_by(2).zip(cases) {
        ip(change);
        agent.set_spec_with_uplinks(revision, &[on_fab("blue", Some(100)), network("green")], &fab());
        if reason.is_empty() {
            let entry = agent.wait_for_network("blue", "is too large", |entry| entry.reason == "MtuTooLarge");
            assert!(["eth1", "1400"].iter().all(|part| entry.message.contains(part)), "{}", entry.message);
        } else {
            let message = wait_for_reason(&agent, reason);
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
            agent.wait_for_network("blue", "waits for its uplink", |entry| entry.reason == "UplinkNotReady");
            assert!(scene.interface("host-eth1").is_none(), "{change}");
        }
        agent.wait_for_network("green", "is programmed", |entry| entry.state == NetworkState::Programmed);
        ip(restore);
        wait_until_programmed(&agent, "blue");
        agent.set_spec_with_uplinks(revision + 1, &[network("green")], &fab());
        until("VPP has let the NIC go", || scene.interface("host-eth1").is_none().then_some(()));
    }
    // VPP has the NIC already, for another client.
    let create = usnet_vpp::messages::AfPacketCreateV3 {
        mode: usnet_vpp::messages::AfPacketMode::Ethernet,
        host_if_name: FixedText::new("eth1").unwrap(),
        use_random_hw_addr: true,
        ..Default::default()
    };
    let theirs = scene.testbed.request(create).sw_if_index;
    agent.set_spec_with_uplinks(20, &[on_fab("blue", Some(100))], &fab());
    let message = wait_for_reason(&agent, "NicTaken");
    assert!(["eth1", "host-eth1", "another NIC"].iter().all(|part| message.contains(part)), "{message}");
    assert_eq!(scene.index("host-eth1"), theirs);
}

macro_rules! on_each {
    ($($name:ident),+ $(,)?) => {
        mod on_simulator {
            $(#[test] fn $name() { super::$name(usnet_test_vpp::Kind::Simulator); })+
        }
        mod on_real_vpp {
            $(#[test] fn $name() { super::$name(usnet_test_vpp::Kind::Real); })+
        }
    };
}

on_each!(
    networks_are_connected_and_the_last_one_leaves_the_nic_up,
    a_nic_that_goes_and_comes_back_is_joined_again,
    a_restart_and_what_others_change_is_repaired,
    each_reason_names_nic_and_remedy_and_passes,
);
