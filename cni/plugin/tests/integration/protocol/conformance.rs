//! The specification's rules for each verb and version, tested with its own library: cnitool is a
//! minimal runtime.

use crate::support::cnitool::Cnitool;
use crate::support::ipam::host_local;
use crate::support::{NETWORK, TestNode, on_a_node};
use serde_json::{Value, json};
use std::cell::Cell;
use usnet_plugin::protocol::version::SpecVersion;

/// A runtime with one network.
struct Runtime<'a> {
    node: &'a TestNode,
    cnitool: Cnitool<'a>,
    calls: Cell<usize>,
}

impl Runtime<'_> {
    fn configure(&self, version: SpecVersion, before: Option<&str>) {
        let own = json!({"type": "userspace", "network": NETWORK});
        let plugins: Vec<Value> = before.map(|plugin| json!({"type": plugin})).into_iter().chain([own]).collect();
        self.cnitool.configure(&json!({"cniVersion": version.as_str(), "name": NETWORK, "plugins": plugins}));
    }

    fn call(&self, verb: &str) -> Result<String, String> {
        self.calls.set(self.calls.get() + 1);
        self.cnitool.call(verb, None)
    }

    fn add(&self) -> Value {
        serde_json::from_str(&self.call("add").unwrap()).unwrap()
    }

    fn attached(&self) -> usize {
        self.node.ports(NETWORK).len()
    }
}

/// Asserts the keys of a result that do not depend on the plugin.
fn assert_result(result: &Value, version: SpecVersion, position: usize) {
    assert_eq!(result["cniVersion"], version.as_str());
    if version < SpecVersion::V0_3_0 {
        assert!(result["ip4"]["ip"].as_str().unwrap().starts_with("10.56.0."), "{result}");
        return;
    }
    let interface = &result["interfaces"][position];
    assert_eq!((&interface["name"], &interface["sandbox"]), (&json!("net1"), &json!("/run/netns/p")), "{result}");
    let has_socket = interface["socketPath"].as_str().is_some_and(|path| path.ends_with("/net1.sock"));
    assert_eq!(has_socket, version >= SpecVersion::V1_1_0, "{result}");
    let address = result["ips"].as_array().unwrap().iter().find(|address| address["interface"] == position).unwrap();
    assert!(address["address"].as_str().unwrap().starts_with("10.56.0."), "{result}");
    assert_eq!(address.get("version").is_some(), version < SpecVersion::V1_0_0, "{result}");
}

#[test]
fn every_verb_in_every_version_through_the_specifications_own_library() {
    on_a_node(|node| {
        let (Some(ipam), Some(cnitool)) = (host_local(), Cnitool::new(node, NETWORK, "net1")) else { return };
        node.program_network(NETWORK, Some(ipam));
        let runtime = Runtime { node, cnitool, calls: Cell::new(0) };
        for version in SpecVersion::ALL {
            run_lifecycle(&runtime, version);
            run_in_a_chain(&runtime, version);
        }
        println!("{} calls", runtime.calls.get());
        node.assert_clean();
    });
}

/// Runs the lifecycle of an attachment, with all calls that may be repeated or have no effect.
fn run_lifecycle(runtime: &Runtime<'_>, version: SpecVersion) {
    runtime.configure(version, None);
    runtime.call("del").unwrap();
    let first = runtime.add();
    assert_result(&first, version, 0);
    assert_eq!(runtime.add(), first);
    assert_eq!(runtime.attached(), 1);
    match (runtime.call("check"), version) {
        (Err(rejected), version) if version < SpecVersion::V0_4_0 => assert!(rejected.contains("CHECK"), "{rejected}"),
        (checked, _) => assert_eq!(checked.as_deref(), Ok("")),
    }
    assert_eq!(runtime.call("status").as_deref(), Ok(""));
    runtime.call("del").unwrap();
    assert_eq!(runtime.attached(), 0);
    runtime.call("del").unwrap();
    runtime.add();
    // cnitool passes no valid attachments, and libcni deletes all that it has in its cache.
    runtime.call("gc").unwrap();
    assert_eq!(runtime.attached(), 0);
}

fn run_in_a_chain(runtime: &Runtime<'_>, version: SpecVersion) {
    // Before 0.3.0 there were neither lists of plugins nor interfaces in results.
    if version < SpecVersion::V0_3_0 {
        return;
    }
    runtime.configure(version, Some("loopback"));
    let result = runtime.add();
    assert_eq!(result["interfaces"][0]["name"], "lo", "{result}");
    assert_result(&result, version, 1);
    if version >= SpecVersion::V0_4_0 {
        assert_eq!(runtime.call("check").as_deref(), Ok(""));
    }
    runtime.call("del").unwrap();
    assert_eq!(runtime.attached(), 0);
}
