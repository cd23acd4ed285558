//! VPP that dies, hangs or lacks a plugin, and recovers.

use super::on_each_vpp;
use super::testbed::{VppTestbed, network};
use crate::support::node::{Node, until};
use crate::support::running_agent::RunningAgent;
use usnet_crds::EngineKind;
use usnet_crds::conditions::VPP_CONNECTED;
use usnet_crds::node_state::{DegradedAttachment, NetworkState};
use usnet_dataplane::attachment::Record;
use usnet_test_openvswitch::OpenVswitch;

on_each_vpp!(
    all_ports_are_back_after_vpp_died,
    a_vpp_that_dies_during_a_replay_gets_everything_in_the_end,
    a_vpp_that_hangs_does_not_delay_open_vswitch,
    a_node_without_vpp_is_not_missed_until_it_is_there,
);
on_each_vpp!(without_memif: a_vpp_without_memif_says_what_to_load);

fn a_vpp_without_memif_says_what_to_load(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "EngineUnsuitable");
    for word in ["VPP", "memif_create", "memif_plugin"] {
        assert!(entry.message.contains(word), "{}", entry.message);
    }
    // The port of a pod that is attached already, as after a restart of VPP, has the same problem.
    testbed.write(&testbed.pod("c1", &network("blue")));
    let entry = agent.wait_for_network("blue", "degraded", |entry| !entry.degraded.is_empty());
    let says_it = |port: &DegradedAttachment| port.reason == "PortFailed" && port.message.contains("memif_plugin");
    assert!(entry.degraded.iter().all(says_it), "{entry:?}");
}

/// Network blue with so many attached pods.
fn with_pods(testbed: &VppTestbed, pods: usize) -> (RunningAgent, Vec<Record>) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pods: Vec<_> = (0..pods).map(|number| testbed.pod(&format!("c{number}"), &network("blue"))).collect();
    pods.iter().for_each(|pod| testbed.write(pod));
    until("all have a port", || (testbed.ports().len() == pods.len()).then_some(()));
    (agent, pods)
}

fn all_ports_are_back_after_vpp_died(testbed: &mut VppTestbed) {
    let (agent, pods) = with_pods(testbed, 50);
    let epoch = agent.epoch(EngineKind::Vpp);
    let tags =
        |testbed: &VppTestbed| testbed.ports().into_iter().map(|(socket, port)| (socket, port.tag)).collect::<Vec<_>>();
    let before = tags(testbed);
    testbed.vpp.kill().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    let connection = agent.wait_for_condition(VPP_CONNECTED, "Disconnected");
    assert!(
        connection.message.contains(&testbed.paths.engine_socket(EngineKind::Vpp).display().to_string()),
        "{}",
        connection.message
    );
    let end = agent.wait_for_end_of(EngineKind::Vpp, 1);
    assert!(end.contains("VPP ended") && end.contains("not connected: default/c"), "{end}");
    testbed.vpp.start_again().unwrap();
    testbed.wait_until_programmed("blue");
    assert_eq!(tags(testbed), before, "promised before all ports were back");
    assert_eq!(agent.epoch(EngineKind::Vpp), epoch + 1);
    assert_eq!(agent.metric("usnet_agent_repairs_total", EngineKind::Vpp), 0.0, "VPP lost it, it was not changed");
    assert_eq!(agent.wait_for_end_of(EngineKind::Vpp, 1), end, "its return is no other end");
    agent.wait_for_network("blue", "has its pods", |entry| entry.attachments == i64::try_from(pods.len()).unwrap());
    drop(agent);
    assert_eq!(RunningAgent::start(&testbed.paths).epoch(EngineKind::Vpp), epoch + 1, "the count outlives the agent");
}

fn a_vpp_that_dies_during_a_replay_gets_everything_in_the_end(testbed: &mut VppTestbed) {
    let (_agent, pods) = with_pods(testbed, 200);
    testbed.vpp.kill().unwrap();
    testbed.vpp.start_again().unwrap();
    until("the replay has begun", || (testbed.interfaces().len() > 1).then_some(()));
    testbed.vpp.kill().unwrap();
    until("it is known to be gone", || (testbed.wait_until_unavailable("blue") == "EngineUnreachable").then_some(()));
    testbed.vpp.start_again().unwrap();
    testbed.wait_until_programmed("blue");
    until("all have a port", || (testbed.ports().len() == pods.len()).then_some(()));
}

fn a_vpp_that_hangs_does_not_delay_open_vswitch(testbed: &mut VppTestbed) {
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    let node = Node::new(Some(ovs.socket().to_owned()), Some(testbed.vpp.socket().to_owned()));
    let agent = RunningAgent::start(&node.paths);
    agent.set_spec(1, &[network("blue"), crate::support::node::network("red")]);
    node.wait_until_programmed("blue");
    node.wait_until_programmed("red");
    testbed.vpp.pause().unwrap();
    agent.set_spec(
        2,
        &[
            network("blue"),
            network("more"),
            crate::support::node::network("red"),
            crate::support::node::network("green"),
        ],
    );
    node.wait_until_programmed("green");
    assert!(!node.is_programmed("more"));
    ovs.vsctl(&["del-br", "br-red"]).unwrap();
    until("red is mended", || ovs.vsctl(&["br-exists", "br-red"]).is_ok().then_some(()));
    let entry = agent.wait_for_network("green", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!(entry.generation, 1);
    assert_eq!(node.wait_until_unavailable("blue"), "EngineUnreachable");
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));

    // A new agent connects to a VPP that never answers.
    drop(agent);
    ovs.vsctl(&["del-br", "br-red"]).unwrap();
    let agent = RunningAgent::start(&node.paths);
    until("red is mended again", || ovs.vsctl(&["br-exists", "br-red"]).is_ok().then_some(()));
    agent.wait_for_network("red", "is programmed", |entry| entry.state == NetworkState::Programmed);
    agent.wait_for_condition(VPP_CONNECTED, "Disconnected");
    testbed.vpp.resume().unwrap();
    node.wait_until_programmed("blue");
    node.wait_until_programmed("more");
}

fn a_node_without_vpp_is_not_missed_until_it_is_there(testbed: &mut VppTestbed) {
    testbed.vpp.kill().unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[]);
    agent.wait_for_condition(VPP_CONNECTED, "NeverSeen");
    agent.wait_for_condition("Ready", "AgentReady");
    agent.wait_for_condition("NetworksProgrammed", "AllProgrammed");
    agent.set_spec(2, &[network("blue")]);
    agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    testbed.vpp.start_again().unwrap();
    testbed.wait_until_programmed("blue");
    agent.wait_for_condition(VPP_CONNECTED, "Connected");
    assert!(agent.wait_for_report("one", |report| Some(report.engine_ends.is_empty())), "nothing ended");
}
