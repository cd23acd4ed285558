//! Networks on uplinks: NICs in the node's network namespace.

use super::testbed::OvsTestbed;
use crate::support::node::{SOON, network, until};
use crate::support::running_agent::RunningAgent;
use crate::support::uplinks::{wait_for_reason, wait_for_uplink, wait_until_programmed};
use std::time::Instant;
use usnet_crds::node_state::NetworkState;
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::{NetworkUplink, NodeNetwork, NodeUplink, Phase, VlanTag};
use usnet_dataplane::paths::NodePaths;
use usnet_node::history_file;

/// A node with a NIC that is down.
pub(super) fn start() -> (OvsTestbed, NodePaths) {
    let testbed = OvsTestbed::start();
    create_nic(&testbed);
    let paths = testbed.paths.clone().with_network_namespace(testbed.ovs.network_namespace());
    (testbed, paths)
}

fn create_nic(testbed: &OvsTestbed) {
    ip(testbed, "link add eth1 type veth peer name wire");
    ip(testbed, "link set wire up");
}

pub(super) fn ip(testbed: &OvsTestbed, arguments: &str) -> String {
    let output = testbed.ovs.command("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether the NIC is up and not promiscuous.
fn is_let_go(testbed: &OvsTestbed) -> bool {
    let nic = ip(testbed, "-d link show dev eth1");
    nic.contains("promiscuity 0") && nic.contains(",UP")
}

pub(super) fn on_fab(name: &str, vlan: Option<i64>) -> NodeNetwork {
    let vlan = vlan.map(|tag| VlanTag::try_from(tag).unwrap());
    let uplink = Some(NetworkUplink { name: "fab".parse().unwrap(), vlan });
    NodeNetwork { uplink, ..network(name) }
}

fn uplink(name: &str, nic: &str) -> NodeUplink {
    let text = format!(
        r#"{{"name": "{name}", "generation": 5, "engine": "OVS", "nic": {{"device": {{"type": "Name", "name": "{nic}"}}}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

pub(super) fn fab() -> [NodeUplink; 1] {
    [uplink("fab", "eth1")]
}

impl OvsTestbed {
    /// The VLANs that the NIC lets through, as Open vSwitch writes them; empty without a NIC.
    fn trunks(&self) -> String {
        self.vsctl("--bare --columns=trunks find Port name=eth1")
    }

    /// Whether the joined NIC is the one that the node has.
    fn has_nic(&self) -> bool {
        let keys = self.vsctl("--bare --columns=external_ids find Port name=eth1");
        let joined = keys.split_whitespace().find_map(|pair| pair.strip_prefix("usnet.dev/device-index="));
        let Some(joined) = joined else { return false };
        let links = ip(self, "-o link show");
        links.lines().any(|line| line.starts_with(&format!("{joined}: eth1")) && line.contains(",UP"))
    }

    /// The rows that usnet writes, with their versions.
    fn configuration(&self) -> (serde_json::Value, serde_json::Value) {
        let columns = ["_uuid", "_version", "name"];
        (self.rows("Port", &columns), self.rows("Bridge", &columns))
    }
}

#[test]
fn networks_are_connected_by_their_vlans_and_the_last_one_leaves_the_nic_as_it_was() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100)), on_fab("red", None)], &fab());
    wait_until_programmed(&agent, "blue");
    wait_until_programmed(&agent, "red");
    assert!(testbed.has_nic(), "it was down");
    assert_eq!(testbed.trunks(), "0 100");
    let entry = wait_for_uplink(&agent, "is reported", |_| true);
    assert_eq!((entry.generation, entry.nic.as_str(), entry.reason.as_str()), (5, "eth1", ""));

    let rows = testbed.configuration();
    agent.set_spec_with_uplinks(2, &[on_fab("blue", Some(100)), on_fab("red", None)], &fab());
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(testbed.configuration(), rows);

    agent.set_spec_with_uplinks(3, &[on_fab("blue", Some(100)), network("red")], &fab());
    until("the VLAN is gone", || (testbed.trunks() == "100").then_some(()));
    agent.set_spec_with_uplinks(4, &[network("red")], &fab());
    until("no bridge of the uplink", || (testbed.bridges() == ["br-red"]).then_some(()));
    assert_eq!(testbed.trunks(), "");
    wait_for_uplink(&agent, "is programmed without networks", |entry| entry.state == UplinkState::Programmed);
    until("the switch has let the NIC go", || is_let_go(&testbed).then_some(()));

    for operation in [
        "create bridge br-up-fab of uplink fab",
        "join NIC eth1 of uplink fab to bridge br-up-fab for no VLAN and VLANs 100",
        "connect network blue to uplink fab in VLAN 100",
        "set VLANs 100 on NIC eth1 of uplink fab",
        "remove port eth1 of uplink fab from bridge br-up-fab",
        "remove bridge br-up-fab of uplink fab",
    ] {
        let recorded = || history_file::read(&paths.history_file()).unwrap();
        until(&format!("the history has: {operation}"), || {
            recorded().iter().any(|change| change.operation == operation).then_some(())
        });
    }
}

#[test]
fn a_nic_that_a_killed_switch_had_is_as_before_once_it_is_let_go() {
    let (mut testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    testbed.ovs.kill_vswitchd().unwrap();
    testbed.ovs.start_vswitchd().unwrap();
    wait_until_programmed(&agent, "blue");
    assert!(!is_let_go(&testbed));
    agent.set_spec_with_uplinks(2, &[], &fab());
    until("the NIC is as before", || is_let_go(&testbed).then_some(()));
}

#[test]
fn a_draining_network_stays_connected() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    let rows = testbed.configuration();
    let draining = NodeNetwork { phase: Phase::Draining, ..on_fab("blue", Some(100)) };
    agent.set_spec_with_uplinks(2, &[draining], &fab());
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert_eq!(testbed.configuration(), rows);
    agent.set_spec_with_uplinks(3, &[], &[]);
    until("no bridge", || testbed.bridges().is_empty().then_some(()));
}

#[test]
fn a_restarted_agent_changes_nothing_and_removes_what_is_no_longer_desired() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    drop(agent);
    let rows = testbed.configuration();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(2, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.configuration(), rows);
    drop(agent);
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(3, &[], &fab());
    until("no bridge", || testbed.bridges().is_empty().then_some(()));
}

#[test]
fn a_nic_that_goes_and_comes_back_is_reported_and_joined_again() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");

    ip(&testbed, "link del wire");
    let message = wait_for_reason(&agent, "NicLost");
    assert!(message.contains("eth1") && message.contains("connected again"), "{message}");
    let entry = agent.wait_for_network("blue", "lost its NIC", |entry| entry.reason == "UplinkNotReady");
    assert!(entry.message.contains("uplink fab") && entry.message.contains("eth1"), "{}", entry.message);
    assert!(testbed.is_programmed("blue"), "pods attach all the same: its bridge works");
    create_nic(&testbed);
    let start = Instant::now();
    until("it is joined again", || testbed.has_nic().then_some(()));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    wait_until_programmed(&agent, "blue");

    ip(&testbed, "link set eth1 down");
    until("it is up again", || testbed.has_nic().then_some(()));
    wait_until_programmed(&agent, "blue");

    ip(&testbed, "link set wire down");
    assert!(wait_for_reason(&agent, "NicLost").contains("carrier"));
    ip(&testbed, "link set wire up");
    wait_until_programmed(&agent, "blue");

    let rows = testbed.configuration();
    for command in ["link set eth1 down", "link set eth1 name eth9", "link set eth9 up"] {
        ip(&testbed, command);
    }
    assert!(wait_for_reason(&agent, "NicLost").contains("eth9"));
    for command in ["link set eth9 down", "link set eth9 name eth1", "link set eth1 up"] {
        ip(&testbed, command);
    }
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.configuration(), rows, "its port was touched");
}

#[test]
fn what_others_change_is_repaired() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    for change in ["clear Port eth1 trunks", "del-port eth1", "del-br br-up-fab"] {
        testbed.vsctl(change);
        until(&format!("it is repaired after {change}"), || {
            (testbed.has_nic() && testbed.trunks() == "100").then_some(())
        });
        wait_until_programmed(&agent, "blue");
    }
    until("each repair is counted", || {
        (agent.metric("usnet_agent_repairs_total", usnet_crds::EngineKind::OpenVswitch) >= 3.0).then_some(())
    });
}

#[test]
fn each_reason_names_nic_and_remedy_and_passes() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    ip(&testbed, "link set eth1 up");
    ip(&testbed, "link add br0 type bridge");
    let cases = [
        ("ip link set eth1 name eth5", "ip link set eth5 name eth1", "NicMissing", ["eth1", "spec.nics"]),
        ("ip addr add 10.0.0.7/24 dev eth1", "ip addr flush dev eth1", "NicCarriesNode", ["10.0.0.7", "Shared"]),
        ("ip route add default dev eth1", "ip route del default", "NicCarriesNode", ["default route", "Shared"]),
        ("ip link set eth1 master br0", "ip link set eth1 nomaster", "NicCarriesNode", ["br0", "Shared"]),
        ("vsctl --no-wait add-br ovs0 -- add-port ovs0 eth1", "vsctl del-br ovs0", "NicTaken", ["ovs0", "another NIC"]),
        ("vsctl --no-wait add-br br-up-fab", "vsctl del-br br-up-fab", "BridgeExists", ["br-up-fab", "remove it"]),
    ];
    let run = |command: &str| match command.split_once(' ').unwrap() {
        ("ip", arguments) => drop(ip(&testbed, arguments)),
        (_, arguments) => drop(testbed.vsctl(arguments)),
    };
    for (revision, (change, restore, reason, parts)) in (1..).step_by(2).zip(cases) {
        run(change);
        agent.set_spec_with_uplinks(revision, &[on_fab("blue", Some(100)), network("green")], &fab());
        let message = wait_for_reason(&agent, reason);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        agent.wait_for_network("blue", "waits for its uplink", |entry| {
            entry.reason == "UplinkNotReady" && entry.message.contains("uplink fab") && entry.message.contains(&message)
        });
        assert_eq!(testbed.wait_until_unavailable("blue"), "UplinkNotReady");
        testbed.wait_until_programmed("green");
        assert_eq!(testbed.vsctl("--bare --columns=external_ids find Port name=eth1"), "", "{change}");
        run(restore);
        wait_until_programmed(&agent, "blue");
        agent.set_spec_with_uplinks(revision + 1, &[network("green")], &fab());
        until("no bridge of the uplink", || (testbed.bridges() == ["br-green"]).then_some(()));
    }
}

#[test]
fn a_network_that_does_not_fit_and_a_second_one_in_a_vlan_are_refused_alone() {
    let (testbed, paths) = start();
    ip(&testbed, "link set eth1 mtu 1400");
    let agent = RunningAgent::start(&paths);
    let networks = [on_fab("blue", Some(100)), on_fab("other", Some(200)), on_fab("red", Some(200))];
    agent.set_spec_with_uplinks(1, &networks, &fab());
    let large = agent.wait_for_network("blue", "is too large", |entry| entry.reason == "MtuTooLarge").message;
    assert!(["eth1", "1400", "bridge.mtu to 1400"].iter().all(|part| large.contains(part)), "{large}");
    ip(&testbed, "link set eth1 mtu 1500");
    wait_until_programmed(&agent, "blue");
    wait_until_programmed(&agent, "other");
    let taken = agent.wait_for_network("red", "is refused", |entry| entry.reason == "VlanTaken").message;
    assert!(["network other", "VLAN 200", "fab"].iter().all(|part| taken.contains(part)), "{taken}");
    assert_eq!(testbed.trunks(), "100 200");
    // A connected network stays connected.
    ip(&testbed, "link set eth1 mtu 1400");
    agent.wait_for_network("blue", "is too large again", |entry| entry.reason == "MtuTooLarge");
    assert_eq!(testbed.trunks(), "100 200");
}
