//! NICs by AF_XDP: a veth pair, whose driver hands frames to the switch before Linux has them.

use super::offloads::ethtool;
use super::testbed::OvsTestbed;
use super::uplinks::{fab, ip, on_fab, start};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use crate::support::uplinks::{wait_for_reason, wait_until_programmed};
use std::time::Duration;
use usnet_crds::{NicDriver, NodeUplink};

fn fab_by_af_xdp() -> [NodeUplink; 1] {
    let [mut uplink] = fab();
    uplink.nic.driver = NicDriver::AfXdp;
    [uplink]
}

fn has_program(testbed: &OvsTestbed) -> bool {
    ip(testbed, "-d link show dev eth1").contains("prog/xdp")
}

fn strips_tags(testbed: &OvsTestbed) -> bool {
    ethtool(testbed, "-k eth1").contains("rx-vlan-offload: on")
}

/// A machine beyond the NIC, and a pod on the bridge of network blue.
fn ends(testbed: &OvsTestbed) -> (Namespace, Namespace) {
    let (node, far, pod) = (Namespace::open(&testbed.ovs.network_namespace()), Namespace::new(), Namespace::new());
    ethtool(testbed, "-K wire tx off tso off gso off");
    ip(testbed, "link add net1 type veth peer name p1");
    ethtool(testbed, "-K net1 tx off");
    ip(testbed, "link set p1 up");
    for (device, namespace) in [("wire", &far), ("net1", &pod)] {
        node.ip(&format!("link set {device} netns {}", namespace.path().display()));
        namespace.ip(&format!("link set {device} up"));
    }
    pod.ip("addr add 10.9.0.1/24 dev net1");
    far.ip("addr add 10.9.0.2/24 dev wire");
    (far, pod)
}

/// Also after the switch was killed. Frames with a tag are sent between machines with real NICs.
#[test]
fn frames_reach_a_pod_and_the_nic_is_as_found_afterwards() {
    let (mut testbed, paths) = start();
    ethtool(&testbed, "-K eth1 rxvlan on gro on");
    let (far, pod) = ends(&testbed);
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", None)], &fab_by_af_xdp());
    wait_until_programmed(&agent, "blue");
    assert!(has_program(&testbed) && !strips_tags(&testbed));
    testbed.vsctl("add-port br-blue p1");
    let passes = || transfer(&far, &pod, "10.9.0.1".parse().unwrap(), 1_000_000, Duration::from_secs(10)).is_some();
    assert!(passes(), "1 MB did not arrive");

    testbed.ovs.kill_vswitchd().unwrap();
    agent.wait_for_connection("NotActing");
    testbed.ovs.start_vswitchd().unwrap();
    wait_until_programmed(&agent, "blue");
    assert!(passes(), "1 MB did not arrive after the switch was killed");

    agent.set_spec_with_uplinks(2, &[], &fab_by_af_xdp());
    until("it is as found", || (strips_tags(&testbed) && !has_program(&testbed)).then_some(()));
}

#[test]
fn a_program_of_others_stays_on_the_nic() {
    let (testbed, paths) = start();
    // The switch of the test has it by a port of its own.
    testbed.vsctl("add-br br-other -- set Bridge br-other datapath_type=netdev");
    testbed.vsctl("add-port br-other eth1 -- set Interface eth1 type=afxdp");
    until("another one has the NIC", || has_program(&testbed).then_some(()));
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", None)], &fab_by_af_xdp());
    let message = wait_for_reason(&agent, "NicTaken");
    assert!(message.contains("XDP program of others"), "{message}");
    assert!(has_program(&testbed));
    testbed.vsctl("del-br br-other");
    wait_until_programmed(&agent, "blue");
}
