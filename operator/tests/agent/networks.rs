//! Bridges come, stay, are mended and go; those of others are left alone.

use crate::node::{network, until};
use crate::running_agent::RunningAgent;
use crate::world::World;
use std::sync::Arc;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Mtu, NodeNetwork, Phase};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::node_file::NodeFile;

#[test]
fn a_network_is_promised_only_once_its_bridge_runs() {
    let world = World::start();
    // The service script of Open vSwitch does this.
    world.vsctl("--no-wait set Open_vSwitch . ovs_version=3.1.0");
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    assert_eq!(world.vsctl("get Bridge br-blue datapath_type"), "netdev");
    assert_ne!(world.vsctl("get Bridge br-blue datapath_id"), "[]", "promised before vswitchd acted");
    let entry = agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!((entry.generation, entry.attachments), (1, 0));
    let version = agent.wait_for_report("an engine", |report| Some(report.engines.first()?.version.clone()));
    assert_eq!(version, "3.1.0");
}

#[test]
fn a_network_that_is_not_asked_for_any_more_goes_with_its_file() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue"), network("green")]);
    world.wait_until_programmed("blue");
    world.wait_until_programmed("green");
    agent.tell(2, &[network("green")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(world.bridges(), ["br-green"]);
    assert_eq!(world.file("blue"), None);
    assert!(world.is_programmed("green"));
}

#[test]
fn a_draining_network_keeps_its_bridge_and_takes_no_pods() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    agent.tell(2, &[NodeNetwork { phase: Phase::Draining, ..network("blue") }]);
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert!(matches!(world.file("blue"), Some(NetworkFile::Draining { .. })));
    assert_eq!(world.bridges(), ["br-blue"]);
}

#[test]
fn a_new_mtu_is_set_in_place() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    let uuid = world.vsctl("get Bridge br-blue _uuid");
    let mut changed = network("blue");
    changed.generation = 2;
    changed.bridge.mtu = Mtu::try_from(1400).unwrap();
    agent.tell(2, &[changed]);
    agent.wait_for_network("blue", "is programmed again", |entry| {
        entry.generation == 2 && entry.state == NetworkState::Programmed
    });
    assert_eq!(world.vsctl("get Interface br-blue mtu_request"), "1400");
    assert_eq!(world.vsctl("get Bridge br-blue _uuid"), uuid, "the bridge was made anew");
}

#[test]
fn a_removed_bridge_comes_back() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    let uuid = world.vsctl("get Bridge br-blue _uuid");
    world.vsctl("del-br br-blue");
    until("another bridge is there", || (world.bridges() == ["br-blue"]).then_some(()));
    world.wait_until_programmed("blue");
    assert_ne!(world.vsctl("get Bridge br-blue _uuid"), uuid);
}

#[test]
fn the_bridge_of_somebody_else_is_named_and_left_alone_until_it_goes() {
    let world = World::start();
    world.vsctl("add-br br-blue -- set Bridge br-blue external_ids:owner=somebody");
    let columns = ["_version", "name", "datapath_type", "external_ids", "ports"];
    let before = world.rows("Bridge", &columns);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue"), network("green")]);
    let entry = agent.wait_for_network("blue", "failed", |entry| entry.state == NetworkState::Failed);
    assert_eq!(entry.reason, "BridgeExists");
    assert!(entry.message.contains("br-blue"), "{}", entry.message);
    assert_eq!(world.wait_until_unavailable("blue"), "BridgeExists");
    world.wait_until_programmed("green");
    agent.tell(2, &[network("blue")]);
    agent.wait_for_report("generation 2", |report| (report.observed_generation() == Some(2)).then_some(()));
    assert_eq!(world.rows("Bridge", &columns), before);

    world.vsctl("del-br br-blue");
    world.wait_until_programmed("blue");
    assert_eq!(world.vsctl("get Bridge br-blue datapath_type"), "netdev");
}

#[test]
fn a_restart_changes_no_row() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue"), network("green")]);
    world.wait_until_programmed("blue");
    world.wait_until_programmed("green");
    agent.wait_for_network("green", "is programmed", |entry| entry.state == NetworkState::Programmed);
    drop(agent);
    let rows = || {
        [
            world.rows("Bridge", &["_uuid", "_version"]),
            world.rows("Port", &["_uuid", "_version", "name", "external_ids"]),
            world.rows("Interface", &["_uuid", "name", "type", "options", "mtu_request", "ofport"]),
            world.rows("Open_vSwitch", &["_uuid", "next_cfg", "cur_cfg", "bridges", "external_ids"]),
        ]
    };
    let before = rows();
    let agent = RunningAgent::start(&world.roots);
    let report = agent.wait_for_report("what the agent before left", |report| Some(report.clone()));
    assert!(report.networks.iter().all(|entry| entry.state == NetworkState::Programmed), "{report:?}");
    agent.tell(1, &[network("blue"), network("green")]);
    agent.wait_for_connection("Connected");
    assert_eq!(rows(), before);
}

#[test]
fn the_last_spec_is_enough_without_an_api_server() {
    let world = World::start();
    let kept = NodeFile {
        version: NodeFile::VERSION,
        generation: 5,
        networks: vec![Arc::new(network("blue"))],
        ..NodeFile::default()
    };
    kept.write(&world.roots).unwrap();
    let agent = RunningAgent::start(&world.roots);
    world.wait_until_programmed("blue");
    agent.wait_for_report("generation 5", |report| (report.observed_generation() == Some(5)).then_some(()));
}

#[test]
fn without_any_spec_nothing_is_taken_away() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    drop(agent);
    std::fs::remove_file(world.roots.node_file()).unwrap();
    let agent = RunningAgent::start(&world.roots);
    agent.wait_for_connection("Connected");
    assert_eq!(world.bridges(), ["br-blue"]);
    assert!(world.is_programmed("blue"));
}

#[test]
fn a_network_file_that_somebody_removed_comes_back() {
    let world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    std::fs::remove_file(world.roots.networks().join("blue.json")).unwrap();
    world.wait_until_programmed("blue");
    std::fs::remove_dir_all(world.roots.networks()).unwrap();
    world.wait_until_programmed("blue");
}
