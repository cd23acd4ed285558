//! Taps of VPP: the pod's interface is created by the engine, and configured by the plugin. VPP
//! itself creates none without `/dev/vhost-net`.

use crate::support::tools::tool;
use crate::support::{NETWORK, TestNode, configuration, ip, on_a_vpp_node, port_types};
use serde_json::{Value, json};
use std::path::Path;
use usnet_test_vpp::Kind;

/// Runs a test on the simulator, and on a VPP that can create taps.
fn on_vpp(test: fn(&mut TestNode)) {
    if tool("static").is_none() {
        return;
    }
    on_a_vpp_node(Kind::Simulator, test);
    if Path::new("/dev/vhost-net").exists() {
        on_a_vpp_node(Kind::Real, test);
    }
}

fn program(node: &TestNode) {
    let addresses = json!([{"address": "10.56.0.5/24"}, {"address": "fd00:1::5/64"}]);
    let routes = json!([{"dst": "198.51.100.0/24", "gw": "10.56.0.9"}]);
    let ipam = json!({"type": "static", "addresses": addresses, "routes": routes});
    node.program_network_with(NETWORK, &port_types::tap(), Some(ipam));
}

/// What `ip` says in the pod's namespace; empty if it fails.
fn in_pod(arguments: &[&str]) -> String {
    let output = std::process::Command::new("ip").args(["-n", "p"]).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn interface() -> String {
    let addresses: Value = serde_json::from_str(&in_pod(&["-j", "addr", "show", "dev", "net1"])).unwrap_or_default();
    let of = &addresses[0];
    let ips: Vec<String> =
        of["addr_info"].as_array().into_iter().flatten().map(|one| one["local"].to_string()).collect();
    format!("{} {} {} {}", of["ifindex"], of["address"], of["mtu"], ips.join(" "))
}

fn add_configures_the_interface_and_del_removes_it(node: &mut TestNode) {
    program(node);
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &configuration(NETWORK)).result();
    let mac = result["interfaces"][0]["mac"].as_str().unwrap();
    assert_eq!(result["interfaces"].as_array().unwrap().len(), 1, "the node has no device: {result}");
    let observed = interface();
    assert!(observed.contains(mac) && observed.contains("10.56.0.") && observed.contains("fd00:1::"), "{observed}");
    assert!(in_pod(&["route"]).contains("198.51.100.0/24 via 10.56.0.9"), "{}", in_pod(&["route"]));
    assert_eq!((node.ports(NETWORK).len(), node.mounts(), node.devices()), (1, vec![], vec![]));
    node.check(&pod, "net1", &result).assert_done();
    ip(&["-n", "p", "link", "set", "net1", "mtu", "9000"]);
    let difference = node.check(&pod, "net1", &result).error();
    assert!(difference["msg"].to_string().contains("the MTU of interface net1 of the pod is 9000"), "{difference}");
    node.del(&pod, "net1").assert_done();
    assert_eq!(in_pod(&["-o", "link", "show", "dev", "net1"]), "");
    node.assert_clean();
}

fn an_interface_without_its_engine_is_removed_by_del(node: &mut TestNode) {
    program(node);
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    let before = interface();
    node.engine.kill();
    assert_eq!(interface(), before, "it stays while VPP is gone");
    node.del(&pod, "net1").assert_done();
    assert_eq!(in_pod(&["-o", "link", "show", "dev", "net1"]), "");
}

fn an_interface_of_the_pod_is_kept_and_add_is_refused(node: &mut TestNode) {
    program(node);
    let pod = node.pod("p");
    ip(&["-n", "p", "link", "add", "net1", "type", "veth", "peer", "name", "other"]);
    assert_eq!(node.add(&pod, "net1").code(), 107);
    assert!(in_pod(&["-d", "link", "show", "dev", "net1"]).contains("veth"));
    node.assert_clean();
}

#[test]
fn add_configures_the_tap_and_del_removes_it() {
    on_vpp(add_configures_the_interface_and_del_removes_it);
}

#[test]
fn a_tap_without_its_engine_is_removed_by_del() {
    on_vpp(an_interface_without_its_engine_is_removed_by_del);
}

#[test]
fn another_interface_of_the_pod_is_no_tap() {
    on_vpp(an_interface_of_the_pod_is_kept_and_add_is_refused);
}
