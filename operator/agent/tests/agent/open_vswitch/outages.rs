//! Open vSwitch that is absent, dies or hangs, and recovers; and failures that only a restart of
//! the agent repairs.

use super::testbed::OvsTestbed;
use crate::support::node::{Node, network};
use crate::support::running_agent::RunningAgent;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_crds::conditions::{NETWORKS_PROGRAMMED, READY};
use usnet_crds::node_state::NetworkState;
use usnet_test_openvswitch::OpenVswitch;

#[test]
fn a_database_that_dies_withdraws_all_network_files_until_it_is_restarted() {
    let mut testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let epoch = agent.epoch(EngineKind::OpenVswitch);

    testbed.ovs.kill_ovsdb_server().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    let connection = agent.wait_for_connection("Disconnected");
    let socket = testbed.paths.engine_socket(EngineKind::OpenVswitch).display().to_string();
    assert!(connection.message.contains(&socket), "{}", connection.message);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "EngineUnreachable");

    testbed.ovs.start_ovsdb_server().unwrap();
    testbed.wait_until_programmed("blue");
    agent.wait_for_connection("Connected");
    assert_eq!(agent.epoch(EngineKind::OpenVswitch), epoch + 1);
    drop(agent);
    assert_eq!(
        RunningAgent::start(&testbed.paths).epoch(EngineKind::OpenVswitch),
        epoch + 1,
        "the count outlives the agent"
    );
}

#[test]
fn a_node_without_open_vswitch_is_not_a_problem_until_it_is_there() {
    let node = Node::new(None, None);
    let agent = RunningAgent::start(&node.paths);
    agent.set_spec(1, &[network("blue")]);
    agent.wait_for_connection("NeverSeen");
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    symlink(ovs.socket(), node.paths.engine_socket(EngineKind::OpenVswitch)).unwrap();
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    agent.wait_for_connection("Connected");
}

/// Longest time until a switch that has ended is reported.
const END_REPORTED_WITHIN: Duration = Duration::from_secs(2);

/// Ends the switch and checks that the agent reports it although it requests nothing of the switch.
fn end_is_reported(testbed: &mut OvsTestbed, agent: &RunningAgent, end: fn(&mut OpenVswitch)) {
    end(&mut testbed.ovs);
    let ended = Instant::now();
    let connection = agent.wait_for_connection("NotActing");
    assert!(connection.message.contains("ovs-vswitchd does not apply changes: its process ended"), "{connection:?}");
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    agent.wait_for_condition(READY, "EngineUnreachable");
    agent.wait_for_condition(NETWORKS_PROGRAMMED, "NotProgrammed");
    assert!(ended.elapsed() < END_REPORTED_WITHIN, "{:?}", ended.elapsed());
    assert_eq!(agent.metric("usnet_agent_engine_connected", EngineKind::OpenVswitch), 0.0);
}

#[test]
fn a_switch_that_ends_while_its_database_lives_is_reported_within_two_seconds() {
    let mut testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let epoch = agent.epoch(EngineKind::OpenVswitch);
    end_is_reported(&mut testbed, &agent, |ovs| ovs.kill_vswitchd().unwrap());
    for restarts in 1..=2 {
        testbed.ovs.start_vswitchd().unwrap();
        testbed.wait_until_programmed("blue");
        agent.wait_for_condition(READY, "AgentReady");
        agent.wait_for_condition(NETWORKS_PROGRAMMED, "AllProgrammed");
        assert_eq!(agent.epoch(EngineKind::OpenVswitch), epoch + restarts);
        assert_eq!(agent.metric("usnet_agent_engine_connected", EngineKind::OpenVswitch), 1.0);
        // As a service manager does: pid file and control socket are removed.
        end_is_reported(&mut testbed, &agent, |ovs| ovs.stop_vswitchd().unwrap());
    }
}

#[test]
fn an_agent_that_is_started_without_a_switch_says_so() {
    let mut testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    drop(agent);
    testbed.ovs.stop_vswitchd().unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    agent.wait_for_connection("NotActing");
    testbed.ovs.start_vswitchd().unwrap();
    agent.wait_for_connection("Connected");
    testbed.wait_until_programmed("blue");
}

#[test]
fn a_stalled_switch_is_distinguished_from_a_live_one() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    testbed.ovs.pause_vswitchd().unwrap();
    agent.set_spec(2, &[network("blue"), network("green")]);
    let connection = agent.wait_for_connection("NotActing");
    assert!(connection.message.contains("ovs-vswitchd does not apply changes: no change"), "{}", connection.message);
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    testbed.ovs.resume_vswitchd().unwrap();
    testbed.wait_until_programmed("blue");
    testbed.wait_until_programmed("green");
    agent.wait_for_connection("Connected");
}

#[test]
fn an_agent_that_cannot_use_its_files_says_so_and_recovers() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let in_the_way = testbed.paths.networks().join("green.json");
    fs::create_dir(&in_the_way).unwrap();
    agent.set_spec(2, &[network("blue"), network("green")]);
    let ready = |reason: &str| {
        agent.wait_for_report(reason, |report| {
            report.findings.iter().find(|finding| finding.kind == READY && finding.reason == reason).cloned()
        })
    };
    let finding = ready("AgentFailed");
    assert!(finding.message.contains("green.json"), "{}", finding.message);
    fs::remove_dir(&in_the_way).unwrap();
    testbed.wait_until_programmed("green");
    ready("AgentReady");
}

#[test]
fn an_engine_that_can_come_back_only_in_another_mount_ends_the_agent() {
    for is_vpp in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let run_folder = folder.path().join("engine");
        fs::create_dir(&run_folder).unwrap();
        // As a mount does, this shows the folder that existed first.
        let mounted = File::open(&run_folder).unwrap();
        let socket = PathBuf::from(format!("/proc/self/fd/{}/engine.sock", mounted.as_raw_fd()));
        let node = if is_vpp { Node::new(None, Some(socket)) } else { Node::new(Some(socket), None) };
        let agent = RunningAgent::start(&node.paths);
        agent.wait_for_connection("NeverSeen");
        fs::remove_dir(&run_folder).unwrap();
        let error = agent.wait_for_end();
        let engine = if is_vpp { EngineKind::Vpp } else { EngineKind::OpenVswitch };
        assert!(error.contains(&format!("{engine} was deleted")), "{error}");
    }
}
