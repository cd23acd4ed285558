//! The files that only the agent writes, as golden files in `operator/agent/testdata/agent-files`:
//! its report of the node, the history, the networks with their counters, and a file for each
//! network.
//!
//! Never edit a folder there: users' programs read these files, and so do the releases before and
//! after. When a format changes, read both and add a folder for the new version.

use crate::support::node::{Node, network, until};
use crate::support::standalone_agent::{Manifests, StandaloneAgent, manifest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use usnet_crds::EngineKind;
use usnet_dataplane::network_file::NetworkFiles;
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::unselected::Unselected;
use usnet_node::history_file;
use usnet_node::state_file::StateFile;
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

/// If this variable has any value, the golden files are replaced with what is written now.
const WRITE: &str = "USNET_WRITE_NODE_FILES";
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/agent-files/v1");

/// Replaces what differs from run to run, or is text for users, with fixed values.
fn masked(key: &str) -> Option<Value> {
    Some(match key {
        "time" | "lastTransitionTime" => json!("2026-11-22T00:00:00.000000Z"),
        "milliseconds" => json!(1),
        "message" | "operation" => json!("for users"),
        "engineSocket" => json!("/run/engine.sock"),
        "manifests" => json!("/etc/usnet/networks"),
        _ => return None,
    })
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match masked(key) {
                    Some(mask) if !field.is_object() => *field = mask,
                    // The version of an engine, not of a file.
                    _ if key == "version" && field.is_string() => *field = json!("1.2.3"),
                    _ => mask(field),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        _ => {}
    }
}

fn masked_text(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    mask(&mut value);
    format!("{value:#}\n")
}

/// The files of a node by name; lines of the history are sorted, because engines are independent.
fn collect(node: &Node) -> BTreeMap<String, String> {
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    // How many changes were appended depends on how fast the engines were.
    let node_file = serde_json::to_string(&NodeFile::read(&node.paths).unwrap().unwrap()).unwrap();
    let mut all = BTreeMap::from([
        ("state.json".to_owned(), masked_text(&read(&node.paths.state_file()))),
        ("node.json".to_owned(), masked_text(&node_file)),
        ("shared-dirs.json".to_owned(), masked_text(&read(&node.paths.shared_dirs_file()))),
        ("definition-ipam.json".to_owned(), masked_text(&read(&node.paths.definition_ipam_file()))),
        ("unselected.json".to_owned(), masked_text(&read(&node.paths.unselected_file()))),
    ]);
    for entry in fs::read_dir(node.paths.networks()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with('.') {
            all.insert(format!("networks/{name}"), masked_text(&read(&entry.path())));
        }
    }
    let line = |line: &str| {
        let mut change: Value = serde_json::from_str(line).unwrap();
        mask(&mut change);
        format!("{change}\n")
    };
    let mut history: Vec<String> = read(&node.paths.history_file()).lines().map(line).collect();
    history.sort();
    all.insert("history.jsonl".to_owned(), history.concat());
    all
}

#[test]
fn the_files_of_version_1_are_still_written() {
    let (ovs, vpp) = (OpenVswitch::builder().dpdk(true).start().unwrap(), Vpp::start(Kind::Simulator).unwrap());
    let node = Node::new(Some(ovs.socket().to_owned()), Some(vpp.socket().to_owned()));
    let manifests = Manifests::new();
    let taken = manifest("red", "OVS", 1500).replace("bridge: {", "bridge: {name: br-foreign, ");
    ovs.vsctl(&["add-br", "br-foreign"]).unwrap();
    let elsewhere =
        manifest("elsewhere", "OVS", 1500).replace("spec:", "spec:\n  nodeSelector: {matchLabels: {rack: a}}");
    let all = manifest("blue", "OVS", 1400) + &manifest("green", "VPP", 1500) + &taken + &elsewhere;
    manifests.write("a.yaml", &all);
    let agent = StandaloneAgent::start(&node.paths, manifests.path());
    node.wait_until_programmed("blue");
    node.wait_until_programmed("green");
    node.wait_until_unavailable("red");
    agent.wait_for_state("2/3", |state| (state.status.summary.networks == "2/3").then_some(()));
    until("the plugin knows why a network is not here", || {
        Unselected::reason(&node.paths, &"elsewhere".parse().unwrap()).unwrap()
    });
    until("both engines are in the history", || (agent.history().len() == 2).then_some(()));

    let written = collect(&node);
    if std::env::var_os(WRITE).is_some() {
        for (name, text) in &written {
            let path = Path::new(GOLDEN).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    for (name, text) in &written {
        let golden = fs::read_to_string(Path::new(GOLDEN).join(name)).unwrap_or_default();
        assert!(*text == golden, "{name} is not written as in {GOLDEN}.\nwritten:\n{text}\ngolden:\n{golden}");
    }
}

#[test]
fn an_agent_reads_the_files_of_version_1() {
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    let node = Node::new(Some(ovs.socket().to_owned()), None);
    let put = |name: &str, path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(Path::new(GOLDEN).join(name), path).unwrap();
    };
    put("state.json", &node.paths.state_file());
    put("node.json", &node.paths.node_file());
    put("history.jsonl", &node.paths.history_file());
    for network in ["blue", "green", "red"] {
        put(&format!("networks/{network}.json"), &node.paths.networks().join(format!("{network}.json")));
    }
    let state = StateFile::read(&node.paths).unwrap().unwrap();
    assert_eq!((state.node.as_str(), state.status.summary.networks.as_str()), ("node-a", "2/3"));
    assert_eq!(history_file::read(&node.paths.history_file()).unwrap().len(), 2);
    assert_eq!(NetworkFiles::new(&node.paths).list().unwrap().len(), 3);
    let before = NodeFile::read(&node.paths).unwrap().unwrap();
    assert_eq!(before.networks.len(), 3);
    assert!(before.engines_seen.contains(&EngineKind::Vpp));

    // It has the networks before anything else tells it of them, and adds to the history.
    let agent = crate::support::running_agent::RunningAgent::start(&node.paths);
    node.wait_until_programmed("blue");
    assert_eq!(node.wait_until_unavailable("green"), "EngineUnreachable");
    until("the history goes on", || (history_file::read(&node.paths.history_file()).unwrap().len() > 2).then_some(()));
    agent.set_spec(u32::try_from(before.generation).unwrap() + 1, &[network("blue")]);
    until("green is gone", || node.file("green").is_none().then_some(()));
    assert_eq!(NodeFile::read(&node.paths).unwrap().unwrap().version, NodeFile::VERSION);
}
