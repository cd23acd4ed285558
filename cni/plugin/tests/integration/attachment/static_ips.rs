//! Static addresses of a pod (`spec.attachments`), on real engines, with the real host-local and
//! static.

use crate::support::engine::on_each_engine;
use crate::support::ipam::host_local;
use crate::support::pod::Pod;
use crate::support::tools::tool;
use crate::support::{NAMESPACE, NETWORK, NETWORK_NAMESPACE, TestNode, configuration, port_types, record_in};
use serde_json::{Value, json};
use std::fs;
use usnet_crds::EngineKind;

on_each_engine! {
    a_pod_gets_its_addresses_and_its_mac_without_ipam,
    host_local_assigns_the_static_address_and_no_other,
    host_local_assigns_a_static_address_that_is_in_the_part_of_no_node,
    an_address_that_another_pod_holds_is_rejected_and_nothing_is_left,
    the_static_plugin_assigns_static_addresses_with_their_gateway,
    static_addresses_are_for_one_interface_and_a_second_one_is_rejected,
    an_address_in_use_is_rejected_until_its_pod_is_gone,
    the_port_has_the_static_vlan_and_rate,
}

/// Programs the network that every node has, with this entry of `spec.attachments` for pod `p` or
/// the pod that it names.
fn program(node: &TestNode, mut static_attachment: Value, ipam: Option<Value>) {
    let port = match node.engine.kind() {
        EngineKind::OpenVswitch => port_types::vhost_user(),
        EngineKind::Vpp => port_types::memif(usnet_crds::MemifSocketKind::Volume, usnet_crds::MemifSecretKind::None),
    };
    let mut network = node.program_network_with(NETWORK, &port, ipam);
    static_attachment["namespace"] = json!(NAMESPACE);
    static_attachment.as_object_mut().unwrap().entry("pod").or_insert_with(|| json!("p"));
    network.attachments = vec![serde_json::from_value(static_attachment).unwrap()];
    node.publish(network);
}

/// A pod that requests an address, as Multus passes it.
fn requesting(node: &TestNode, name: &str, address: &str) -> Pod {
    let mut pod = node.pod(name);
    pod.uid.push_str(&format!(";IP={address}"));
    pod
}

fn addresses(result: &Value) -> Vec<&str> {
    let ips = result["ips"].as_array().map(Vec::as_slice).unwrap_or_default();
    ips.iter().map(|ip| ip["address"].as_str().unwrap()).collect()
}

fn a_pod_gets_its_addresses_and_its_mac_without_ipam(node: &mut TestNode) {
    let mac = "02:11:22:33:44:55";
    program(node, json!({"ips": ["10.56.0.77/24", "fd00:1::77/64"], "mac": mac}), None);
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    assert_eq!(addresses(&result), ["10.56.0.77/24", "fd00:1::77/64"]);
    assert_eq!(result["interfaces"][0]["mac"], mac);
    let description = pod.description("net1");
    assert_eq!(description["ips"], json!([{"address": "10.56.0.77/24"}, {"address": "fd00:1::77/64"}]));
    assert_eq!(description["mac"], mac);
    let record = record_in(&node.records()[0]);
    assert_eq!((&record["mac"], record["addresses"].as_array().unwrap().len()), (&json!(mac), 2));

    let other = node.add(&node.pod("other"), "net1").result();
    assert!(addresses(&other).is_empty(), "it is static for another pod: {other}");
    assert_ne!(other["interfaces"][0]["mac"], mac);
    node.del(&pod, "net1").assert_done();
    node.del(&node.pod("other"), "net1").assert_done();
    node.assert_clean();
}

fn host_local_assigns_the_static_address_and_no_other(node: &mut TestNode) {
    let Some(ipam) = host_local() else { return };
    program(node, json!({"ips": ["10.56.0.77/24"]}), Some(ipam));
    // Static addresses override the pod's requests from all three sources.
    let mut asks = configuration(NETWORK);
    asks["args"] = json!({"cni": {"ips": ["10.56.0.99"]}});
    asks["runtimeConfig"] = json!({"ips": ["10.56.0.99/24"]});
    let result = node.call("ADD", &requesting(node, "p", "10.56.0.99"), "net1", &asks).result();
    assert_eq!(result["ips"], json!([{"address": "10.56.0.77/24", "gateway": "10.56.0.1", "interface": 0}]));
    let other = node.add(&node.pod("other"), "net1").result();
    assert!(addresses(&other).len() == 1 && addresses(&other) != ["10.56.0.77/24"], "{other}");
    node.del(&node.pod("p"), "net1").assert_done();
    assert!(!fs::exists("/run/addresses/blue/10.56.0.77").unwrap());
}

/// With nodePrefix the node has a part of the range, and the pod may run on any node.
fn host_local_assigns_a_static_address_that_is_in_the_part_of_no_node(node: &mut TestNode) {
    let Some(mut ipam) = host_local() else { return };
    ipam["ranges"] = json!([[{"subnet": "10.56.0.0/16", "rangeStart": "10.56.3.0", "rangeEnd": "10.56.3.255"}]]);
    program(node, json!({"ips": ["10.56.9.77/16"]}), Some(ipam));
    let (pod, other) = (node.pod("p"), node.pod("other"));
    let result = node.add(&pod, "net1").result();
    assert_eq!(result["ips"], json!([{"address": "10.56.9.77/16", "gateway": "10.56.0.1", "interface": 0}]));
    assert_eq!(addresses(&node.add(&other, "net1").result()), ["10.56.3.0/16"]);
    for pod in [pod, other] {
        node.del(&pod, "net1").assert_done();
    }
    node.assert_clean();
    assert!(!fs::exists("/run/addresses/blue/10.56.9.77").unwrap());
}

fn an_address_that_another_pod_holds_is_rejected_and_nothing_is_left(node: &mut TestNode) {
    let Some(ipam) = host_local() else { return };
    program(node, json!({"ips": ["10.56.0.2/24"]}), Some(ipam));
    let other = node.pod("other");
    assert_eq!(addresses(&node.add(&other, "net1").result()), ["10.56.0.2/24"]);
    let pod = node.pod("p");
    let message = node.add(&pod, "net1").error()["msg"].as_str().unwrap().to_owned();
    for part in ["address 10.56.0.2", "of pod db/other", "spec.attachments[].ips", "delete that pod"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.del(&other, "net1").assert_done();
    assert_eq!(addresses(&node.add(&pod, "net1").result()), ["10.56.0.2/24"]);
}

fn the_static_plugin_assigns_static_addresses_with_their_gateway(node: &mut TestNode) {
    if tool("static").is_none() {
        return;
    }
    let known = json!([{"address": "10.56.0.9/24", "gateway": "10.56.0.1"}]);
    program(node, json!({"ips": ["10.56.0.77/24"]}), Some(json!({"type": "static", "addresses": known})));
    let result = node.add(&requesting(node, "p", "10.56.0.99/24"), "net1").result();
    assert_eq!(result["ips"], json!([{"address": "10.56.0.77/24", "gateway": "10.56.0.1", "interface": 0}]));
    assert_eq!(addresses(&node.add(&node.pod("other"), "net1").result()), ["10.56.0.9/24"]);
}

fn static_addresses_are_for_one_interface_and_a_second_one_is_rejected(node: &mut TestNode) {
    let (mac, ips) = ("02:11:22:33:44:55", json!(["10.56.0.77/24"]));
    let pod = node.pod("p");
    for (field, value, static_attachment) in
        [("mac", mac, json!({"mac": mac})), ("ips", "10.56.0.77", json!({"ips": ips, "mac": mac}))]
    {
        program(node, static_attachment, None);
        node.add(&pod, "net1").result();
        let error = node.add(&pod, "net2").error();
        assert_eq!(error["code"], 7, "{error}");
        let message = error["msg"].as_str().unwrap();
        let named =
            [value, NETWORK, "p (spec.attachments[]", &format!("[].{field} or a reservation)"), "net1 of pod", "once"];
        for part in named {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
        assert_eq!((node.records().len(), node.ports(NETWORK).len()), (1, 1), "something of net2 was left");
        node.del(&pod, "net2").assert_done();
        node.del(&pod, "net1").assert_done();
    }
    // Both interfaces may have a static VLAN.
    program(node, json!({"vlan": {"mode": "Access", "tag": 77}}), None);
    let macs: Vec<_> = ["net1", "net2"].map(|interface| node.add(&pod, interface).result()).into();
    assert_ne!(macs[0]["interfaces"][0]["mac"], macs[1]["interfaces"][0]["mac"]);
    node.del(&pod, "net1").assert_done();
    node.del(&pod, "net2").assert_done();
    node.assert_clean();
}

fn an_address_in_use_is_rejected_until_its_pod_is_gone(node: &mut TestNode) {
    let static_attachment = |pod: &str| json!({"pod": pod, "ips": ["10.56.0.77/24"], "mac": "02:11:22:33:44:55"});
    program(node, static_attachment("p"), None);
    node.add(&node.pod("p"), "net1").result();
    // The address is assigned to another pod while the first one runs.
    program(node, static_attachment("other"), None);
    let error = node.add(&node.pod("other"), "net1").error();
    let message = error["msg"].as_str().unwrap();
    assert!(message.contains("address 10.56.0.77 for pod") && message.contains("delete that pod"), "{message}");
    node.del(&node.pod("p"), "net1").assert_done();
    assert_eq!(addresses(&node.add(&node.pod("other"), "net1").result()), ["10.56.0.77/24"]);

    program(node, static_attachment("p"), None);
    assert_eq!(node.add(&node.pod("p"), "net1").error()["code"], 7);
    // After a reboot the other pod's sandbox is gone, possibly without a DEL.
    let file = node.records().remove(0);
    let record = fs::read_to_string(&file).unwrap();
    assert!(record.contains(NETWORK_NAMESPACE));
    fs::write(&file, record.replace(NETWORK_NAMESPACE, "/run/netns/gone")).unwrap();
    assert_eq!(addresses(&node.add(&node.pod("p"), "net1").result()), ["10.56.0.77/24"]);
}

fn the_port_has_the_static_vlan_and_rate(node: &mut TestNode) {
    let vlan = json!({"mode": "Access", "tag": 77});
    // VPP's driver does not support rates yet, and rejects them.
    let rate = match node.engine.kind() {
        EngineKind::OpenVswitch => json!({"ingressKbps": 10_000, "egressKbps": 20_000}),
        EngineKind::Vpp => json!({}),
    };
    program(node, json!({"vlan": vlan, "rateLimit": rate}), None);
    node.add(&node.pod("p"), "net1").result();
    let record = record_in(&node.records()[0]);
    assert_eq!((&record["port"]["settings"]["vlan"], &record["port"]["settings"]["rateLimit"]), (&vlan, &rate));
    let ports = node.ports(NETWORK);
    if node.engine.kind() == EngineKind::OpenVswitch {
        assert_eq!(node.open_vswitch().vsctl(&["get", "Port", &ports[0], "tag"]).unwrap().trim(), "77");
    }
}
