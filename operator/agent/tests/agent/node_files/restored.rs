//! An agent on a node with everything that an earlier release wrote there: the golden files of
//! `cni/plugin/testdata/node-files`.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use usnet_dataplane::attachment::Progress;
use usnet_dataplane::node_file::NodeFile;
use usnet_test_openvswitch::OpenVswitch;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cni/plugin/testdata/node-files/v1/ovs");
/// The placeholder for the engine's socket in the golden files.
const ENGINE_SOCKET: &str = "/run/engine.sock";
/// A node as version 1 left it, without the devices of its veth ports.
fn restored() -> OvsTestbed {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch"));
    let golden = Path::new(GOLDEN);
    copy(&testbed, &golden.join("state"), &testbed.paths.state);
    copy(&testbed, &golden.join("usnet/networks"), &testbed.paths.networks());
    let server = format!("unix:{}", testbed.ovs.socket().display());
    let rows = fs::read_to_string(golden.join("engine.json")).unwrap();
    let output = Command::new("ovsdb-client").args(["transact", &server, &rows]).output().unwrap();
    assert!(output.status.success() && !String::from_utf8_lossy(&output.stdout).contains("error"), "{output:?}");
    // Until the switch has acted on it.
    testbed.vsctl("set Open_vSwitch . external_ids:restored=yes");
    testbed
}

/// Copies a folder, and fills in the path of the testbed's engine.
fn copy(testbed: &OvsTestbed, from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            self::copy(testbed, &path, &copy);
        } else {
            let text = fs::read_to_string(path).unwrap();
            fs::write(copy, text.replace(ENGINE_SOCKET, testbed.ovs.socket().to_str().unwrap())).unwrap();
        }
    }
}

/// The rows of ports by name, and those of their limits by UUID: as usnet wrote them, with versions
/// where Open vSwitch itself changes nothing.
fn rows(testbed: &OvsTestbed) -> BTreeMap<String, Value> {
    let settings = ["_uuid", "name", "options", "type", "mtu_request", "ingress_policing_rate"];
    let tables: [(&str, &str, &[&str]); 3] = [
        ("Port", "name", &["_version", "name"]),
        ("Interface", "name", &settings),
        ("QoS", "_uuid", &["_version", "_uuid"]),
    ];
    let mut all = BTreeMap::new();
    for (table, name, columns) in tables {
        let reply = testbed.rows(table, columns);
        for row in reply.pointer("/0/rows").and_then(Value::as_array).unwrap() {
            all.insert(format!("{table} {}", row[name]), row.clone());
        }
    }
    all
}

#[test]
fn an_agent_on_a_node_of_version_1_removes_the_ports_of_ended_pods_and_changes_nothing_else() {
    let testbed = restored();
    let before = rows(&testbed);
    let records = testbed.records();
    let golden = fs::read_dir(Path::new(GOLDEN).join("state/attachments")).unwrap().count();
    assert_eq!(records.len(), golden, "all records can be read");
    let ended = records.iter().filter(|record| matches!(record.progress, Progress::Detaching | Progress::Detached));
    let ended: BTreeSet<String> = ended.map(|record| record.port.name.to_string()).collect();
    assert_eq!(ended.len(), 2);

    // The agent has only node.json: no API server has confirmed anything.
    let _agent = RunningAgent::start(&testbed.paths);
    let is_there = |port: &String| testbed.vsctl("--bare --columns=name list Port").contains(port.as_str());
    until("the ports of ended pods are gone", || (!ended.iter().any(is_there)).then_some(()));
    let networks = NodeFile::read(&testbed.paths).unwrap().unwrap().networks;
    assert!(networks.len() > 10);
    for network in networks {
        testbed.wait_until_programmed(network.name.as_str());
    }

    let after = rows(&testbed);
    let is_limit = |row: &&String| row.starts_with("QoS");
    for (row, value) in before.iter().filter(|(row, _)| !is_limit(row) && !row.contains("\"br-")) {
        if !ended.iter().any(|port| row.contains(port.as_str())) {
            assert_eq!(after.get(row), Some(value), "{row}");
        }
    }
    let (limits, left) = (before.keys().filter(is_limit), after.keys().filter(is_limit));
    assert_eq!(left.count(), limits.count() - 1, "all but that of the detached pod");
}
