//! The devices of the kernel: the ends of veth pairs on the node and in pods.

use super::super::files::Files;
use super::super::nodes;
use super::super::restore::parse;
use crate::support::{TestNode, ip};
use serde_json::{Value, json};

/// The devices on the node, by name, and those in the network namespaces of pods.
pub(in super::super) fn dump(node: &TestNode) -> String {
    let on_node = |device: &String| of(&[], device);
    let devices: Vec<Value> = node.devices().iter().map(on_node).collect();
    let mut in_pods = Vec::new();
    for attachment in nodes::attachments(node) {
        let namespace = ip(&["-n", &attachment.pod, "-o", "link", "show", "type", "veth"]);
        for line in namespace.lines() {
            let name = line.split([':', '@']).nth(1).unwrap().trim();
            let mut device = of(&["-n", &attachment.pod], name);
            device["pod"] = json!(attachment.pod);
            in_pods.push(device);
        }
    }
    let mut all = json!({"node": devices, "pods": in_pods});
    for part in ["node", "pods"] {
        all[part].as_array_mut().unwrap().sort_by_key(ToString::to_string);
    }
    format!("{all:#}\n")
}

fn of(namespace: &[&str], name: &str) -> Value {
    let text = ip(&[namespace, &["-j", "addr", "show", "dev", name]].concat());
    let links: Value = serde_json::from_str(&text).unwrap();
    let link = &links[0];
    let addresses = link["addr_info"].as_array().unwrap().iter();
    let addresses = addresses.filter(|address| address["scope"] == "global");
    let addresses: Vec<String> =
        addresses.map(|address| format!("{}/{}", address["local"].as_str().unwrap(), address["prefixlen"])).collect();
    // The alias is not in the JSON of `ip`.
    let line = ip(&[namespace, &["-o", "link", "show", "dev", name]].concat());
    let alias = line.split_once(" alias ").and_then(|(_, alias)| alias.split_whitespace().next());
    json!({"name": name, "alias": alias, "mtu": link["mtu"], "mac": link["address"], "ips": addresses})
}

/// Creates the devices of the golden files.
pub(in super::super) fn restore(golden: &Files) {
    let all: Value = serde_json::from_str(&golden["devices.json"]).unwrap();
    let text = |device: &Value, key: &str| device[key].as_str().unwrap().to_owned();
    for device in all["node"].as_array().unwrap() {
        let (name, alias, mac) = (text(device, "name"), text(device, "alias"), text(device, "mac"));
        let mtu = device["mtu"].to_string();
        let in_pod = all["pods"].as_array().unwrap().iter().find(|other| is_other_end(golden, &alias, other)).unwrap();
        let (pod, interface, pod_mac) = (text(in_pod, "pod"), text(in_pod, "name"), text(in_pod, "mac"));
        let pair = ["link", "add", &name, "mtu", &mtu, "address", &mac, "type", "veth", "peer", "name", &interface];
        ip(&[pair.as_slice(), &["mtu", &mtu, "address", &pod_mac, "netns", &pod]].concat());
        ip(&["link", "set", "dev", &name, "alias", &alias, "up"]);
        for address in in_pod["ips"].as_array().unwrap() {
            ip(&["-n", &pod, "addr", "add", address.as_str().unwrap(), "dev", &interface]);
        }
        ip(&["-n", &pod, "link", "set", "dev", &interface, "up"]);
    }
}

/// Whether a pod's device belongs to the device with this alias, by the attachment's record.
fn is_other_end(golden: &Files, alias: &str, in_pod: &Value) -> bool {
    let attachment = alias.strip_prefix("usnet:").unwrap();
    let record = parse(&golden[&format!("state/attachments/{attachment}.json")]);
    record["mac"] == in_pod["mac"]
}
