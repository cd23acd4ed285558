//! The garbage collection beside a running agent: what it detaches leaves Open vSwitch, and nothing
//! else does.

use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_crds::SocketRole;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::network_namespace::inode;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_node::garbage::Collector;
use usnet_node::history_file;
use usnet_test_openvswitch::OpenVswitch;

/// Stands for the network namespace of a living pod.
const LIVING: &str = "/proc/self/ns/net";

/// An attached pod of network blue, with a port, whose sandbox exists.
fn attach(testbed: &OvsTestbed, namespaces: &TempDir, container: &str) -> Record {
    let socket: PathBuf = testbed.ovs.folder().join(format!("{container}.sock"));
    let backend =
        PortBackend::VhostUser { socket: SocketPath::try_from(socket).unwrap(), engine_role: SocketRole::Client };
    let path = namespaces.path().join(container);
    symlink(LIVING, &path).unwrap();
    let mut record = testbed.record(container, &network("blue"), backend);
    record.network_namespace_inode = inode(&path);
    record.network_namespace = path;
    testbed.write(&record);
    until("the pod has a port", || has_port(testbed, &record).then_some(()));
    record
}

fn has_port(testbed: &OvsTestbed, record: &Record) -> bool {
    testbed.vsctl("list-ports br-blue").lines().any(|port| port == record.port.name.as_str())
}

fn collect(testbed: &OvsTestbed) {
    Collector::new(&testbed.paths, "/nowhere".into(), Duration::ZERO).unwrap().pass(Instant::now());
}

#[test]
fn ports_of_pods_that_ended_without_del_are_removed_and_their_network_can_be_deleted() {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let namespaces = tempfile::tempdir().unwrap();
    let [living, ended, unreachable] = ["living", "ended", "far"].map(|name| attach(&testbed, &namespaces, name));
    // As in the shipped DaemonSet, where the garbage collection has no socket of an engine.
    testbed.write(&Record { engine_socket: "/nowhere/db.sock".into(), ..unreachable.clone() });
    agent.wait_for_network("blue", "has three pods", |entry| entry.attachments == 3);
    let row = || testbed.vsctl(&format!("get Interface {} _uuid ofport", living.port.name));
    let before = row();

    collect(&testbed);
    assert_eq!(testbed.records().len(), 3, "all of them live");
    ["ended", "far"].iter().for_each(|container| fs::remove_file(namespaces.path().join(container)).unwrap());
    collect(&testbed);
    until("only the living pod has a record", || (testbed.records() == [living.clone()]).then_some(()));
    assert!(!has_port(&testbed, &ended) && !has_port(&testbed, &unreachable));
    assert_eq!(row(), before, "the port of the living pod is as it was");
    agent.wait_for_network("blue", "has one pod", |entry| entry.attachments == 1);
    assert_eq!(history_file::read(&testbed.paths.garbage_file()).unwrap().len(), 2);

    fs::remove_file(namespaces.path().join("living")).unwrap();
    agent.set_spec(2, &[]);
    agent.wait_for_network("blue", "waits for its pod", |entry| entry.reason == "InUse");
    collect(&testbed);
    until("the bridge is removed with the last pod", || testbed.bridges().is_empty().then_some(()));
}
