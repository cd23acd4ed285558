//! Bonds of NICs, with a second bridge of the same switch at the other end of their cables.

use super::offloads::ethtool;
use super::testbed::OvsTestbed;
use super::uplinks::{ip, on_fab};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use crate::support::uplinks::{wait_for_reason, wait_for_uplink, wait_until_programmed};
use std::time::Duration;
use usnet_crds::conditions::reason::{BOND_DEGRADED, NIC_LOST, NO_LACP_PARTNER};
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::{NicDriver, NodeUplink};
use usnet_dataplane::paths::NodePaths;

const NICS: [&str; 2] = ["eth1", "eth2"];

/// A node with two NICs, whose cables end in `wire-eth1` and `wire-eth2`.
fn start() -> (OvsTestbed, NodePaths) {
    let testbed = OvsTestbed::start();
    NICS.iter().for_each(|nic| create(&testbed, nic));
    let paths = testbed.paths.clone().with_network_namespace(testbed.ovs.network_namespace());
    (testbed, paths)
}

fn create(testbed: &OvsTestbed, nic: &str) {
    ip(testbed, &format!("link add {nic} type veth peer name wire-{nic}"));
    set_cable(testbed, nic, "up");
}

fn set_cable(testbed: &OvsTestbed, nic: &str, state: &str) {
    ip(testbed, &format!("link set wire-{nic} {state}"));
}

fn bond(mode: &str) -> [NodeUplink; 1] {
    let members = NICS.map(|nic| format!(r#"{{"type": "Name", "name": "{nic}"}}"#)).join(", ");
    let text = format!(
        r#"{{"name": "fab", "generation": 5, "engine": "OVS", "nic": {{"device": {{"bond": {{"mode": "{mode}", "members": [{members}]}}}}}}}}"#
    );
    [serde_json::from_str(&text).unwrap()]
}

impl OvsTestbed {
    /// Columns of the port of the bond, as Open vSwitch writes them.
    fn bond(&self, columns: &str) -> String {
        self.vsctl(&format!("--bare --columns={columns} find Port bond_mode!=[] name!=lag"))
    }

    fn is_let_go(&self, nic: &str) -> bool {
        let nic = ip(self, &format!("-d link show dev {nic}"));
        nic.contains("promiscuity 0") && nic.contains(",UP")
    }

    /// Whether the node drops what comes over a device.
    fn is_isolated(&self, device: &str) -> bool {
        let output = self.ovs.command("nft").args(["list", "table", "netdev", "usnet"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).contains(&format!("\"{device}\""))
    }
}

fn wait_until_whole(agent: &RunningAgent) {
    wait_for_uplink(agent, "is whole", |entry| entry.state == UplinkState::Programmed && entry.reason.is_empty());
}

#[test]
fn a_bond_works_as_long_as_one_member_does_and_says_what_is_wrong_with_the_others() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &bond("ActiveBackup"));
    wait_until_programmed(&agent, "blue");
    wait_until_whole(&agent);
    assert_eq!(wait_for_uplink(&agent, "is reported", |_| true).nic, "eth1, eth2");
    assert_eq!(testbed.bond("bond_mode,trunks"), "active-backup\n100");
    assert!(NICS.iter().all(|nic| testbed.is_isolated(nic)), "the node is not reached over them");
    let row = testbed.bond("_uuid");
    let other = |nic: &str| if nic == NICS[0] { NICS[1] } else { NICS[0] };

    for nic in NICS {
        set_cable(&testbed, nic, "down");
        let message = wait_for_reason(&agent, BOND_DEGRADED);
        assert!(message.contains(&format!("{nic} has no link")), "{message}");
        wait_until_programmed(&agent, "blue");
        wait_for_uplink(&agent, "names the active member", |entry| entry.active_member == other(nic));
        set_cable(&testbed, nic, "up");
        wait_until_whole(&agent);
    }
    ip(&testbed, "link del eth1");
    let message = wait_for_reason(&agent, BOND_DEGRADED);
    assert!(message.contains("NIC eth1 of this node has disappeared"), "{message}");
    assert_eq!(testbed.bond("_uuid"), row, "the other member goes on");
    create(&testbed, "eth1");
    wait_until_whole(&agent);
    NICS.iter().for_each(|nic| set_cable(&testbed, nic, "down"));
    wait_for_reason(&agent, NIC_LOST);
    NICS.iter().for_each(|nic| set_cable(&testbed, nic, "up"));
    wait_until_whole(&agent);

    agent.set_spec_with_uplinks(2, &[], &bond("ActiveBackup"));
    until("the NICs are as before", || NICS.iter().all(|nic| testbed.is_let_go(nic)).then_some(()));
    until("nothing is isolated", || NICS.iter().all(|nic| !testbed.is_isolated(nic)).then_some(()));
    assert_eq!(testbed.bond("name"), "");
}

/// A namespace behind an access port for VLAN `tag` of a bridge; none is untagged.
fn behind(testbed: &OvsTestbed, bridge: &str, port: &str, tag: &str) -> Namespace {
    let (node, end) = (Namespace::open(&testbed.ovs.network_namespace()), Namespace::new());
    let device = format!("{port}-in");
    ip(testbed, &format!("link add {device} type veth peer name {port}"));
    ethtool(testbed, &format!("-K {device} tx off tso off gso off"));
    ip(testbed, &format!("link set {port} up"));
    testbed.vsctl(&format!("add-port {bridge} {port} {tag}"));
    node.ip(&format!("link set {device} netns {}", end.path().display()));
    end.ip(&format!("link set {device} up"));
    end
}

/// A switch that knows of no bond is at the other end of both cables.
#[test]
fn frames_pass_over_each_member_alone_in_the_modes_without_lacp() {
    for mode in ["ActiveBackup", "BalanceSLB"] {
        let (testbed, paths) = start();
        let agent = RunningAgent::start(&paths);
        agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &bond(mode));
        wait_until_whole(&agent);
        testbed.vsctl("add-br switch -- set Bridge switch datapath_type=netdev");
        let (pod, far) = (behind(&testbed, "br-blue", "p1", ""), behind(&testbed, "switch", "far", "tag=100"));
        pod.ip("addr add 10.9.0.1/24 dev p1-in");
        far.ip("addr add 10.9.0.2/24 dev far-in");
        testbed.vsctl("add-port switch wire-eth1 -- add-port switch wire-eth2");
        let passes = || transfer(&far, &pod, "10.9.0.1".parse().unwrap(), 100_000, Duration::from_secs(10)).is_some();
        assert!(passes(), "{mode}: over both");
        for nic in NICS {
            set_cable(&testbed, nic, "down");
            wait_for_reason(&agent, BOND_DEGRADED);
            assert!(passes(), "{mode}: without {nic}");
            set_cable(&testbed, nic, "up");
            wait_until_whole(&agent);
        }
        NICS.iter().for_each(|nic| set_cable(&testbed, nic, "down"));
        wait_for_reason(&agent, NIC_LOST);
        assert!(transfer(&far, &pod, "10.9.0.1".parse().unwrap(), 1, Duration::from_secs(1)).is_none(), "{mode}: none");
    }
}

/// A bond that others have changed is restored, and a restarted agent changes nothing.
#[test]
fn a_bond_is_repaired_and_kept() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    let blue = || [on_fab("blue", Some(100))];
    agent.set_spec_with_uplinks(1, &blue(), &bond("BalanceSLB"));
    wait_until_programmed(&agent, "blue");
    for damage in ["set Port {} bond_mode=active-backup", "set Port {} lacp=active", "del-port {}"] {
        testbed.vsctl(&damage.replace("{}", &testbed.bond("name")));
        until(damage, || (testbed.bond("bond_mode,lacp") == "balance-slb\noff").then_some(()));
        wait_until_whole(&agent);
    }
    drop(agent);
    let rows = testbed.rows("Port", &["_uuid", "_version", "name"]);
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(2, &blue(), &bond("BalanceSLB"));
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.rows("Port", &["_uuid", "_version", "name"]), rows, "nothing is changed");

    let single =
        r#"{"name": "fab", "generation": 5, "engine": "OVS", "nic": {"device": {"type": "Name", "name": "eth1"}}}"#;
    agent.set_spec_with_uplinks(3, &blue(), &[serde_json::from_str(single).unwrap()]);
    until("one NIC instead", || testbed.vsctl("list-ports br-up-fab").contains("eth1").then_some(()));
    until("the other is let go", || testbed.is_let_go("eth2").then_some(()));
    agent.set_spec_with_uplinks(4, &blue(), &bond("LACP"));
    until("a bond again", || (testbed.bond("bond_mode") == "balance-tcp").then_some(()));
}

#[test]
fn frames_pass_only_with_a_partner_of_lacp_and_each_member_without_one_is_named() {
    let (testbed, paths) = start();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &bond("LACP"));
    let message = wait_for_reason(&agent, NO_LACP_PARTNER);
    assert!(message.contains("eth1, eth2"), "{message}");
    testbed.vsctl("add-br partner -- set Bridge partner datapath_type=netdev");
    testbed.vsctl(
        "add-bond partner lag wire-eth1 wire-eth2 lacp=active bond_mode=balance-tcp other_config:lacp-time=fast",
    );
    wait_until_whole(&agent);
    wait_until_programmed(&agent, "blue");
    assert_eq!(testbed.bond("lacp,other_config"), "active\nlacp-time=fast");

    testbed.vsctl(
        "del-port lag -- add-port partner wire-eth1 -- set Port wire-eth1 lacp=active other_config:lacp-time=fast",
    );
    let message = wait_for_reason(&agent, BOND_DEGRADED);
    assert!(message.contains("the switch does not answer eth2 by LACP"), "{message}");
    assert!(!message.contains("eth1"), "{message}");
}

/// One of Open vSwitch's own drivers, which has an XDP program on each of its NICs.
#[test]
fn a_bond_by_af_xdp_is_whole_again_after_a_killed_switch_and_gives_its_nics_back() {
    let (mut testbed, paths) = start();
    let programs =
        |testbed: &OvsTestbed| NICS.map(|nic| ip(testbed, &format!("-d link show dev {nic}")).contains("prog/xdp"));
    let [mut uplink] = bond("ActiveBackup");
    uplink.nic.driver = NicDriver::AfXdp;
    let uplinks = [uplink];
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &uplinks);
    wait_until_whole(&agent);
    assert_eq!(programs(&testbed), [true; 2]);
    let row = testbed.bond("_uuid");
    set_cable(&testbed, "eth1", "down");
    let message = wait_for_reason(&agent, BOND_DEGRADED);
    assert!(message.contains("eth1 has no link"), "{message}");
    set_cable(&testbed, "eth1", "up");
    wait_until_whole(&agent);

    testbed.ovs.kill_vswitchd().unwrap();
    agent.wait_for_connection("NotActing");
    testbed.ovs.start_vswitchd().unwrap();
    wait_until_whole(&agent);
    assert_eq!(
        (testbed.bond("_uuid"), programs(&testbed)),
        (row, [true; 2]),
        "the programs of the dead one are no others'"
    );
    agent.set_spec_with_uplinks(2, &[], &uplinks);
    until("no programs are left", || (programs(&testbed) == [false; 2]).then_some(()));
    until("the NICs are let go", || NICS.iter().all(|nic| testbed.is_let_go(nic)).then_some(()));
}
