//! Ports of attached pods are kept, those of detached pods are removed, and attachments that the
//! plugin has locked are left to it.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::path::PathBuf;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_test_openvswitch::OpenVswitch;

/// An attached pod of network blue.
fn record(testbed: &OvsTestbed, container: &str) -> Record {
    let socket: PathBuf = testbed.ovs.folder().join(format!("{container}.sock"));
    let socket = SocketPath::try_from(socket).unwrap();
    testbed.record(container, &network("blue"), PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
}

fn has_port(testbed: &OvsTestbed, record: &Record) -> bool {
    let ports = testbed.vsctl(&format!("list-ports {}", record.port.bridge));
    ports.lines().any(|port| port == record.port.name.as_str())
}

/// A testbed with DPDK, which vhost-user ports need, with network blue and one attached pod.
pub(super) fn testbed_with_pod() -> (OvsTestbed, RunningAgent, Record) {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pod = record(&testbed, "c1");
    testbed.write(&pod);
    until("the pod has a port", || has_port(&testbed, &pod).then_some(()));
    (testbed, agent, pod)
}

#[test]
fn a_lost_port_is_recreated_and_foreign_ports_stay() {
    let (testbed, agent, pod) = testbed_with_pod();
    let repairs = || agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch);
    assert_eq!(repairs(), 0.0, "the port of a pod that was just attached is no drift");
    testbed.vsctl("add-port br-blue foreign0 -- set Interface foreign0 type=internal");
    testbed.vsctl(&format!("del-port {}", pod.port.name));
    until("the port is back", || has_port(&testbed, &pod).then_some(()));
    until("the port runs", || {
        let ofport = testbed.vsctl(&format!("get Interface {} ofport", pod.port.name));
        ofport.parse().is_ok_and(|number: i64| number > 0).then_some(())
    });
    assert!(testbed.vsctl("list-ports br-blue").lines().any(|port| port == "foreign0"));
    until("the repair is counted", || (repairs() == 1.0).then_some(()));
    let entry = agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    assert_eq!(entry.pods, ["default/c1"]);

    testbed.vsctl("del-br br-blue");
    until("bridge and port are back", || (testbed.bridges() == ["br-blue"] && has_port(&testbed, &pod)).then_some(()));
    testbed.wait_until_programmed("blue");
}

#[test]
fn a_detach_without_open_vswitch_is_finished_when_it_returns() {
    let (mut testbed, agent, pod) = testbed_with_pod();
    testbed.ovs.kill_ovsdb_server().unwrap();
    agent.wait_for_connection("Disconnected");
    testbed.write(&Record { progress: Progress::Detached, ..pod.clone() });
    testbed.ovs.start_ovsdb_server().unwrap();
    until("the record is removed", || testbed.records().is_empty().then_some(()));
    assert!(!has_port(&testbed, &pod));
    agent.wait_for_network("blue", "has no pod", |entry| entry.attachments == 0);
}

#[test]
fn what_the_plugin_has_locked_is_left_to_it() {
    let (testbed, _agent, pod) = testbed_with_pod();
    let journal = Journal::open(&testbed.paths).unwrap();
    let locked = journal.lock(&pod.id).unwrap();
    locked.write(&Record { progress: Progress::Detaching, ..pod.clone() }).unwrap();
    // Another pod's port is created after the agent has read the first one's record.
    let other = record(&testbed, "c2");
    testbed.write(&other);
    until("the other pod has its port", || has_port(&testbed, &other).then_some(()));
    assert!(has_port(&testbed, &pod), "the agent took the port from under the plugin");
    assert!(locked.read().unwrap().is_some());
    locked.write(&Record { progress: Progress::Detached, ..pod.clone() }).unwrap();
    drop(locked);
    until("the agent finishes what was left", || (!has_port(&testbed, &pod)).then_some(()));
    until("the record is removed", || (testbed.records().len() == 1).then_some(()));
}

#[test]
fn an_interrupted_detach_loses_its_port_but_not_its_record() {
    let (testbed, _agent, pod) = testbed_with_pod();
    testbed.write(&Record { progress: Progress::Detaching, ..pod.clone() });
    until("the port is removed", || (!has_port(&testbed, &pod)).then_some(()));
    // A second attachment shows that the agent has finished a whole reconcile since.
    let other = record(&testbed, "c2");
    testbed.write(&other);
    until("the other pod has its port", || has_port(&testbed, &other).then_some(()));
    let remaining = testbed.records();
    assert!(remaining.iter().any(|record| record.id == pod.id), "no DEL could release its addresses: {remaining:?}");
}

#[test]
fn an_unreadable_record_protects_ports_without_a_record_and_their_bridge_is_reported() {
    let (testbed, agent, pod) = testbed_with_pod();
    let path = testbed.paths.attachments().join(format!("{}.json", pod.id));
    std::fs::write(&path, "{").unwrap();
    let other = record(&testbed, "c2");
    testbed.write(&other);
    until("the other pod has its port", || has_port(&testbed, &other).then_some(()));
    assert!(has_port(&testbed, &pod));
    agent.set_spec(2, &[]);
    agent.wait_for_network("blue", "is in use", |entry| entry.reason == "InUse");
    std::fs::remove_file(testbed.paths.attachments().join(format!("{}.json", other.id))).unwrap();
    agent.wait_for_network("blue", "still has its bridge", |entry| entry.reason == "RecordUnreadable");
    assert_eq!(testbed.bridges(), ["br-blue"]);
    std::fs::remove_file(&path).unwrap();
    until("port and bridge are removed once it is known that there is no record", || {
        testbed.bridges().is_empty().then_some(())
    });
}
