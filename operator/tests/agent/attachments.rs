//! Ports of attached pods are kept, those of pods that left are taken away, and what the plugin works on is left to it.

use crate::node::{network, until};
use crate::running_agent::RunningAgent;
use crate::world::World;
use std::path::PathBuf;
use usnet_crds::SocketRole;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_test_openvswitch::OpenVswitch;

/// An attached pod of network blue.
fn record(world: &World, container: &str) -> Record {
    let socket: PathBuf = world.ovs.folder().join(format!("{container}.sock"));
    let socket = SocketPath::try_from(socket).unwrap();
    world.record(container, &network("blue"), PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
}

fn has_port(world: &World, record: &Record) -> bool {
    let ports = world.vsctl(&format!("list-ports {}", record.port.bridge));
    ports.lines().any(|port| port == record.port.name.as_str())
}

/// A world with DPDK, which vhost-user ports need, with network blue and one attached pod.
fn world_with_pod() -> (World, RunningAgent, Record) {
    let world = World::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("blue")]);
    world.wait_until_programmed("blue");
    let pod = record(&world, "c1");
    world.write(&pod);
    until("the pod has a port", || has_port(&world, &pod).then_some(()));
    (world, agent, pod)
}

#[test]
fn a_lost_port_comes_back_and_foreign_ports_stay() {
    let (world, agent, pod) = world_with_pod();
    world.vsctl("add-port br-blue foreign0 -- set Interface foreign0 type=internal");
    world.vsctl(&format!("del-port {}", pod.port.name));
    until("the port is back", || has_port(&world, &pod).then_some(()));
    until("the port runs", || {
        let ofport = world.vsctl(&format!("get Interface {} ofport", pod.port.name));
        ofport.parse().is_ok_and(|number: i64| number > 0).then_some(())
    });
    assert!(world.vsctl("list-ports br-blue").lines().any(|port| port == "foreign0"));
    let entry = agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    assert_eq!(entry.pods, ["default/c1"]);

    world.vsctl("del-br br-blue");
    until("bridge and port are back", || (world.bridges() == ["br-blue"] && has_port(&world, &pod)).then_some(()));
    world.wait_until_programmed("blue");
}

#[test]
fn a_detach_that_met_no_open_vswitch_is_finished_when_it_returns() {
    let (mut world, agent, pod) = world_with_pod();
    world.ovs.kill_ovsdb_server().unwrap();
    agent.wait_for_connection("Disconnected");
    world.write(&Record { progress: Progress::Detached, ..pod.clone() });
    world.ovs.start_ovsdb_server().unwrap();
    until("the record is gone", || world.records().is_empty().then_some(()));
    assert!(!has_port(&world, &pod));
    agent.wait_for_network("blue", "has no pod", |entry| entry.attachments == 0);
}

#[test]
fn what_the_plugin_works_on_is_left_to_it() {
    let (world, _agent, pod) = world_with_pod();
    let journal = Journal::open(&world.roots).unwrap();
    let busy = journal.lock(&pod.id).unwrap();
    busy.write(&Record { progress: Progress::Detaching, ..pod.clone() }).unwrap();
    // Another pod's port comes after the agent has seen the first one's record.
    let other = record(&world, "c2");
    world.write(&other);
    until("the other pod has its port", || has_port(&world, &other).then_some(()));
    assert!(has_port(&world, &pod), "the agent took the port from under the plugin");
    assert!(busy.read().unwrap().is_some());
    busy.write(&Record { progress: Progress::Detached, ..pod.clone() }).unwrap();
    drop(busy);
    until("the agent finishes what was left", || (!has_port(&world, &pod)).then_some(()));
    until("the record is gone", || (world.records().len() == 1).then_some(()));
}

#[test]
fn a_detach_that_was_stopped_loses_its_port_but_not_its_record() {
    let (world, _agent, pod) = world_with_pod();
    world.write(&Record { progress: Progress::Detaching, ..pod.clone() });
    until("the port is gone", || (!has_port(&world, &pod)).then_some(()));
    // A second attachment shows that the agent has been through a whole pass since.
    let other = record(&world, "c2");
    world.write(&other);
    until("the other pod has its port", || has_port(&world, &other).then_some(()));
    let left = world.records();
    assert!(left.iter().any(|record| record.id == pod.id), "nobody could give back its addresses: {left:?}");
}

#[test]
fn an_unreadable_record_protects_ports_without_a_record() {
    let (world, _agent, pod) = world_with_pod();
    let path = world.roots.attachments().join(format!("{}.json", pod.id));
    std::fs::write(&path, "{").unwrap();
    let other = record(&world, "c2");
    world.write(&other);
    until("the other pod has its port", || has_port(&world, &other).then_some(()));
    assert!(has_port(&world, &pod));
    std::fs::remove_file(&path).unwrap();
    until("its port goes once it is known to be gone", || (!has_port(&world, &pod)).then_some(()));
}
