//! Networks that carry no packets, or that no pod could attach to, although their bridge exists.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::time::{Duration, Instant};
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, Ownership, PortType};
use usnet_test_openvswitch::OpenVswitch;

/// Longest time until flows of another client are gone, on a busy machine: bridges are probed every
/// 10 s.
const PUT_BACK_WITHIN: Duration = Duration::from_secs(30);

fn ofctl(testbed: &OvsTestbed, line: &str) -> String {
    let output = testbed
        .ovs
        .command("ovs-ofctl")
        .env("OVS_RUNDIR", testbed.ovs.folder())
        .args(line.split(' '))
        .output()
        .unwrap();
    assert!(output.status.success(), "ovs-ofctl {line}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn flows(testbed: &OvsTestbed, bridge: &str) -> Vec<String> {
    let all = ofctl(testbed, &format!("dump-flows {bridge}"));
    let actions = |line: &str| line.split_once("actions=").map(|(_, actions)| actions.to_owned());
    all.lines().filter_map(actions).collect()
}

#[test]
fn what_stops_a_bridge_from_forwarding_is_drift_and_put_back() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let mut repairs = agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch);
    for (change, column, wanted) in [
        ("set-fail-mode br-blue secure", "fail_mode", "[]"),
        ("set-controller br-blue tcp:127.0.0.1:9", "controller", "[]"),
        ("set Bridge br-blue rstp_enable=true", "rstp_enable", "false"),
    ] {
        testbed.vsctl(&format!("--no-wait {change}"));
        let get = format!("--no-wait get Bridge br-blue {column}");
        until(change, || (testbed.vsctl(&get) == wanted).then_some(()));
        let more = || agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch);
        repairs = until("a repair is counted", || Some(more()).filter(|now| *now > repairs));
    }
    for change in ["del-flows br-blue", "add-flow br-blue actions=drop"] {
        ofctl(&testbed, change);
        let since = Instant::now();
        until(change, || (flows(&testbed, "br-blue") == ["NORMAL"]).then_some(()));
        assert!(since.elapsed() < PUT_BACK_WITHIN, "{:?}", since.elapsed());
        let more = || agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch);
        repairs = until("a repair is counted", || Some(more()).filter(|now| *now > repairs));
    }
    agent.wait_for_network("blue", "programmed", |entry| entry.state == NetworkState::Programmed);
}

#[test]
fn an_adopted_bridge_whose_flows_forward_nothing_is_unusable_and_not_changed() {
    let testbed = OvsTestbed::start();
    testbed.vsctl("add-br br-theirs -- set Bridge br-theirs datapath_type=netdev fail_mode=secure");
    let agent = RunningAgent::start(&testbed.paths);
    let mut blue = network("blue");
    (blue.bridge.name, blue.bridge.ownership) = ("br-theirs".parse().unwrap(), Ownership::Adopted);
    agent.set_spec(1, std::slice::from_ref(&blue));
    let entry = agent.wait_for_network("blue", "unusable", |entry| entry.reason == "BridgeUnusable");
    assert!(entry.message.contains("NORMAL") && entry.message.contains("secure"), "{}", entry.message);
    assert_eq!(flows(&testbed, "br-theirs"), [""; 0]);
    // The controller of the other client lets the bridge forward.
    ofctl(&testbed, "add-flow br-theirs priority=7,actions=NORMAL");
    agent.wait_for_network("blue", "programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!(testbed.vsctl("get Bridge br-theirs fail_mode"), "secure");
}

#[test]
fn a_switch_without_dpdk_fails_networks_of_vhost_user_ports_until_it_has_it() {
    let mut testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).dpdk_memory(64).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    let (blue, mut veth) = (network("blue"), network("veth"));
    veth.port.port_type = PortType::Veth;
    agent.set_spec(1, &[blue, veth]);
    let is_programmed = |name: &str| {
        agent.wait_for_network(name, "programmed", |entry| entry.state == NetworkState::Programmed);
    };
    ["blue", "veth"].into_iter().for_each(is_programmed);
    for (setting, is_there) in [
        ("remove Open_vSwitch . other_config dpdk-init", false),
        ("set Open_vSwitch . other_config:dpdk-init=true", true),
    ] {
        testbed.vsctl(&format!("--no-wait {setting}"));
        testbed.ovs.kill_vswitchd().unwrap();
        testbed.ovs.start_vswitchd().unwrap();
        if is_there {
            is_programmed("blue");
        } else {
            let entry = agent.wait_for_network("blue", "unsuitable", |entry| entry.reason == "EngineUnsuitable");
            assert!(entry.state == NetworkState::Failed && entry.message.contains("dpdk-init=true"), "{entry:?}");
            assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnsuitable");
        }
        is_programmed("veth");
        testbed.wait_until_programmed("veth");
    }
}
