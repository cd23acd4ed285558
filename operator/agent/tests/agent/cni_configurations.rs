//! Bridges that CNI configurations in files of the node name.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::until;
use crate::support::selecting_agent::{SelectingAgent, compiled};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use usnet_crds::NodeNetwork;

fn write(testbed: &OvsTestbed, file: &str, text: &str) {
    let [folder, ..] = testbed.paths.cni_configurations.as_slice() else { panic!("no folder") };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
}

fn of_bridge(bridge: &str) -> Value {
    let host = json!({
        "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge", "vhost": {"mode": "client"},
        "bridge": {"bridgeName": bridge},
    });
    json!({"cniVersion": "0.3.1", "type": "userspace", "name": "old", "host": host})
}

fn wait_for_bridges(testbed: &OvsTestbed, bridges: &[&str]) {
    until(&format!("the bridges are {bridges:?}"), || (testbed.bridges() == bridges).then_some(()));
}

#[test]
fn bridges_that_files_of_the_node_name_are_made_kept_and_removed() {
    let testbed = OvsTestbed::start();
    let delegates = json!({"type": "multus", "delegates": [{"type": "flannel"}, of_bridge("br1")]});
    write(&testbed, "00-multus.conf", &delegates.to_string());
    let agent = SelectingAgent::start(&testbed.paths);
    wait_for_bridges(&testbed, &["br1"]);
    testbed.wait_until_programmed("ovs-br1");
    write(&testbed, "90-userspace.conf", &of_bridge("br0").to_string());
    wait_for_bridges(&testbed, &["br0", "br1"]);
    agent.wait_for_problem(&[]);

    // Half of a file changes nothing, also for a network that is there already.
    write(&testbed, "90-userspace.conf", "{\"type\": \"userspace\", ");
    agent.wait_for_problem(&["90-userspace.conf", "JSON"]);
    assert_eq!(testbed.bridges(), ["br0", "br1"]);
    write(&testbed, "90-userspace.conf", &of_bridge("br0").to_string());
    agent.wait_for_problem(&[]);

    // A network of the API server waits for the bridge, and has it after the file is removed.
    let mut blue = compiled("blue", 5);
    let mut network = NodeNetwork::clone(&blue.network);
    network.bridge.name = "br0".parse().unwrap();
    blue.network = Arc::new(network);
    agent.apply(blue);
    agent.wait_for("blue is refused", |report| {
        report.networks.iter().any(|entry| entry.name == "blue" && entry.reason == "BridgeConflict")
    });
    fs::remove_file(testbed.paths.cni_configurations[0].join("90-userspace.conf")).unwrap();
    testbed.wait_until_programmed("blue");
    assert!(testbed.file("ovs-br0").is_none() && testbed.is_programmed("ovs-br1"));
}
