//! Offloads that merge received packets: disabled while the engine has the NIC, and restored
//! afterwards.

use super::testbed::OvsTestbed;
use super::uplinks::{fab, ip, on_fab, start};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use crate::support::tcp::{Namespace, transfer};
use crate::support::uplinks::wait_until_programmed;
use std::time::Duration;
use usnet_crds::EngineKind;

pub(super) fn ethtool(testbed: &OvsTestbed, arguments: &str) -> String {
    let output = testbed.ovs.command("ethtool").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ethtool {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn merges(testbed: &OvsTestbed) -> bool {
    ethtool(testbed, "-k eth1").contains("generic-receive-offload: on")
}

#[test]
fn a_nic_merges_no_packets_while_the_switch_has_it_and_is_as_found_afterwards() {
    let (testbed, paths) = start();
    ethtool(&testbed, "-K eth1 gro on");
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    assert!(!merges(&testbed));

    ethtool(&testbed, "-K eth1 gro on");
    until("it is repaired", || (!merges(&testbed)).then_some(()));
    assert!(agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch) >= 1.0);

    // A restarted agent knows which offloads to restore.
    drop(agent);
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(2, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    agent.set_spec_with_uplinks(3, &[], &fab());
    until("it is as found", || merges(&testbed).then_some(()));

    ethtool(&testbed, "-K eth1 gro off");
    agent.set_spec_with_uplinks(4, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    agent.set_spec_with_uplinks(5, &[], &fab());
    until("no bridge", || testbed.bridges().is_empty().then_some(()));
    drop(agent);
    assert!(!merges(&testbed), "it was off");
}

#[test]
fn a_nic_is_as_found_also_if_agent_and_switch_ended_meanwhile() {
    let (mut testbed, paths) = start();
    ethtool(&testbed, "-K eth1 gro on");
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", Some(100))], &fab());
    wait_until_programmed(&agent, "blue");
    drop(agent);
    testbed.ovs.kill_vswitchd().unwrap();
    testbed.vsctl("--no-wait del-br br-up-fab");
    testbed.vsctl("--no-wait del-br br-blue");
    testbed.ovs.start_vswitchd().unwrap();
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(2, &[], &[]);
    until("it is as found", || merges(&testbed).then_some(()));
}

/// Merged packets are larger than the MTU, and the switch drops them: with the offloads, 1 MB takes
/// more than ten seconds here.
#[test]
fn tcp_from_beyond_a_nic_that_merges_packets_reaches_a_pod() {
    let (testbed, paths) = start();
    let (node, far, pod) = (Namespace::open(&testbed.ovs.network_namespace()), Namespace::new(), Namespace::new());
    ethtool(&testbed, "-K eth1 gro on");
    ethtool(&testbed, "-K wire tx off tso off gso off");
    ip(&testbed, "link add net1 type veth peer name p1");
    ethtool(&testbed, "-K net1 tx off");
    ip(&testbed, "link set p1 up");
    for (device, namespace, address) in [("wire", &far, "10.9.0.2/24"), ("net1", &pod, "10.9.0.1/24")] {
        node.ip(&format!("link set {device} netns {}", namespace.path().display()));
        for command in [format!("addr add {address} dev {device}"), format!("link set {device} up")] {
            namespace.ip(&command);
        }
    }
    let agent = RunningAgent::start(&paths);
    agent.set_spec_with_uplinks(1, &[on_fab("blue", None)], &fab());
    wait_until_programmed(&agent, "blue");
    testbed.vsctl("add-port br-blue p1");
    let limit = Duration::from_secs(5);
    let elapsed = transfer(&far, &pod, "10.9.0.1".parse().unwrap(), 1_000_000, limit);
    assert!(elapsed.is_some(), "1 MB did not arrive in {limit:?}");
}
