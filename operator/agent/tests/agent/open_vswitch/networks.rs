//! Bridges are created, kept, repaired and removed; those not owned by usnet are left alone.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::sync::Arc;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Mtu, NodeNetwork, Phase};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::node_file::NodeFile;

#[test]
fn a_network_is_programmed_only_once_its_bridge_is_up() {
    let testbed = OvsTestbed::start();
    // The service script of Open vSwitch does this.
    testbed.vsctl("--no-wait set Open_vSwitch . ovs_version=3.1.0");
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    assert_eq!(testbed.vsctl("get Bridge br-blue datapath_type"), "netdev");
    assert_ne!(testbed.vsctl("get Bridge br-blue datapath_id"), "[]", "promised before vswitchd acted");
    let entry = agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!((entry.generation, entry.attachments), (1, 0));
    let version = agent.wait_for_report("an engine", |report| Some(report.engines.first()?.version.clone()));
    assert_eq!(version, "3.1.0");
}

#[test]
fn a_network_that_is_no_longer_desired_is_removed_with_its_file() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue"), network("green")]);
    testbed.wait_until_programmed("blue");
    testbed.wait_until_programmed("green");
    agent.set_spec(2, &[network("green")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(testbed.bridges(), ["br-green"]);
    assert_eq!(testbed.file("blue"), None);
    assert!(testbed.is_programmed("green"));
}

#[test]
fn a_draining_network_keeps_its_bridge_and_accepts_no_pods() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    agent.set_spec(2, &[NodeNetwork { phase: Phase::Draining, ..network("blue") }]);
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert!(matches!(testbed.file("blue"), Some(NetworkFile::Draining { .. })));
    assert_eq!(testbed.bridges(), ["br-blue"]);
}

#[test]
fn a_new_mtu_is_set_in_place() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let uuid = testbed.vsctl("get Bridge br-blue _uuid");
    let mut changed = network("blue");
    changed.generation = 2;
    changed.bridge.mtu = Mtu::try_from(1400).unwrap();
    agent.set_spec(2, &[changed]);
    agent.wait_for_network("blue", "is programmed again", |entry| {
        entry.generation == 2 && entry.state == NetworkState::Programmed
    });
    assert_eq!(testbed.vsctl("get Interface br-blue mtu_request"), "1400");
    assert_eq!(testbed.vsctl("get Bridge br-blue _uuid"), uuid, "the bridge was recreated");
}

#[test]
fn a_removed_bridge_is_recreated() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let uuid = testbed.vsctl("get Bridge br-blue _uuid");
    testbed.vsctl("del-br br-blue");
    until("another bridge is there", || (testbed.bridges() == ["br-blue"]).then_some(()));
    testbed.wait_until_programmed("blue");
    assert_ne!(testbed.vsctl("get Bridge br-blue _uuid"), uuid);
}

#[test]
fn a_bridge_not_owned_by_usnet_is_reported_and_left_alone_until_it_is_removed() {
    let testbed = OvsTestbed::start();
    testbed.vsctl("add-br br-blue -- set Bridge br-blue datapath_type=netdev external_ids:owner=another");
    let columns = ["_version", "name", "datapath_type", "external_ids", "ports"];
    let before = testbed.rows("Bridge", &columns);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue"), network("green")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "BridgeExists");
    assert!(entry.message.contains("br-blue"), "{}", entry.message);
    assert_eq!(testbed.wait_until_unavailable("blue"), "BridgeExists");
    testbed.wait_until_programmed("green");
    agent.set_spec(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(testbed.rows("Bridge", &columns), before);

    testbed.vsctl("del-br br-blue");
    testbed.wait_until_programmed("blue");
    let tags = testbed.vsctl("get Bridge br-blue external_ids");
    assert!(tags.contains("usnet.dev/network") && !tags.contains("another"), "{tags}");
}

#[test]
fn a_restart_changes_no_row() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue"), network("green")]);
    testbed.wait_until_programmed("blue");
    testbed.wait_until_programmed("green");
    agent.wait_for_network("green", "is programmed", |entry| entry.state == NetworkState::Programmed);
    drop(agent);
    let rows = || {
        [
            testbed.rows("Bridge", &["_uuid", "_version"]),
            testbed.rows("Port", &["_uuid", "_version", "name", "external_ids"]),
            testbed.rows("Interface", &["_uuid", "name", "type", "options", "mtu_request", "ofport"]),
            testbed.rows("Open_vSwitch", &["_uuid", "next_cfg", "cur_cfg", "bridges", "external_ids"]),
        ]
    };
    let before = rows();
    let agent = RunningAgent::start(&testbed.paths);
    let report = agent.wait_for_report("what the agent before left", |report| Some(report.clone()));
    assert!(report.networks.iter().all(|entry| entry.state == NetworkState::Programmed), "{report:?}");
    agent.set_spec(1, &[network("blue"), network("green")]);
    agent.wait_for_connection("Connected");
    assert_eq!(rows(), before);
}

#[test]
fn the_last_spec_is_enough_without_an_api_server() {
    let testbed = OvsTestbed::start();
    let kept = NodeFile {
        version: NodeFile::VERSION,
        generation: 5,
        networks: vec![Arc::new(network("blue"))],
        ..NodeFile::default()
    };
    kept.write(&testbed.paths).unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    testbed.wait_until_programmed("blue");
    agent.wait_for_report("generation 5", |report| (report.observed_generation() == Some(5)).then_some(()));
}

#[test]
fn without_any_spec_nothing_is_removed() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    drop(agent);
    std::fs::remove_file(testbed.paths.node_file()).unwrap();
    let agent = RunningAgent::start(&testbed.paths);
    agent.wait_for_connection("Connected");
    assert_eq!(testbed.bridges(), ["br-blue"]);
    assert!(testbed.is_programmed("blue"));
}

#[test]
fn a_removed_network_file_is_recreated() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    std::fs::remove_file(testbed.paths.networks().join("blue.json")).unwrap();
    testbed.wait_until_programmed("blue");
    std::fs::remove_dir_all(testbed.paths.networks()).unwrap();
    testbed.wait_until_programmed("blue");
}

#[test]
fn a_network_file_that_another_program_changes_is_written_again() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let path = testbed.paths.networks().join("blue.json");
    let written = std::fs::read_to_string(&path).unwrap();
    let newer = written.replace("\"version\": 1", "\"version\": 99");
    assert_ne!(newer, written);
    std::fs::write(&path, newer).unwrap();
    until("the file is as it was", || (std::fs::read_to_string(&path).unwrap() == written).then_some(()));
    // Replaces the file by a rename, as an editor does.
    let other = testbed.paths.networks().join(".edited");
    std::fs::write(&other, "{}").unwrap();
    std::fs::rename(&other, &path).unwrap();
    until("the file is as it was again", || (std::fs::read_to_string(&path).unwrap() == written).then_some(()));
}
