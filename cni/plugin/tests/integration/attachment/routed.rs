//! Memifs in IP mode: the engine routes the addresses of the pod to them, and nothing else.

use super::gateways::{GATEWAY, both_families, program};
use crate::support::engine::on_each_vpp;
use crate::support::ipam::host_local_with;
use crate::support::legacy::legacy_memif;
use crate::support::tools::tool;
use crate::support::{TestNode, port_types};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use usnet_vpp::messages::{IpRouteDump, IpTable, IpTableDump, MemifDump};
use usnet_vpp::{Batch, Dump};

on_each_vpp! {
    the_addresses_of_a_pod_are_routed_to_its_memif,
    a_pod_without_a_routed_address_is_refused,
    an_address_of_another_pod_is_not_routed_to_a_second_one,
    a_pod_of_a_configuration_with_net_type_interface_attaches,
}

/// The addresses that VPP routes to memifs.
fn routed(node: &TestNode) -> BTreeSet<String> {
    let mut client = node.vpp().client().unwrap();
    let mut dump = |tables: Vec<IpTable>| {
        let mut batch = Batch::new();
        let tickets: Vec<_> = tables.into_iter().map(|table| batch.dump(IpRouteDump { table })).collect();
        let answers = client.send(&batch).unwrap();
        tickets.into_iter().flat_map(|ticket| answers.details(ticket).unwrap()).collect::<Vec<_>>()
    };
    let tables = all(node, IpTableDump {}).into_iter().filter(|table| table.table_id != 0);
    let tables = tables.map(|table| IpTable { table_id: table.table_id, is_ip6: table.is_ip6, ..IpTable::default() });
    let memifs: Vec<u32> = all(node, MemifDump {}).iter().map(|memif| memif.sw_if_index).collect();
    let routes = dump(tables.collect()).into_iter().map(|details| details.route);
    let routes = routes.filter(|route| route.paths.0.iter().any(|path| memifs.contains(&path.sw_if_index)));
    routes.map(|route| format!("{}/{}", route.prefix.ip().unwrap(), route.prefix.length)).collect()
}

fn all<D: Dump>(node: &TestNode, dump: D) -> Vec<D::Details> {
    let mut batch = Batch::new();
    let ticket = batch.dump(dump);
    node.vpp().client().unwrap().send(&batch).unwrap().details(ticket).unwrap()
}

/// The addresses of a result with the prefix length of a host.
fn hosts(result: &Value) -> BTreeSet<String> {
    let ips = result["ips"].as_array().unwrap().iter();
    ips.map(|ip| {
        let address = ip["address"].as_str().unwrap().split('/').next().unwrap();
        format!("{address}/{}", if address.contains(':') { 128 } else { 32 })
    })
    .collect()
}

fn the_addresses_of_a_pod_are_routed_to_its_memif(node: &mut TestNode) {
    let Some(ipam) = host_local_with(&both_families()) else { return };
    program(node, &port_types::memif_in_ip_mode(), Some(ipam));
    let (pod, other) = (node.pod("p"), node.pod("q"));
    let result = node.add(&pod, "net1").result();
    let second = node.add(&other, "net1").result();
    assert_eq!(hosts(&result).len(), 2);
    assert_eq!(routed(node), &hosts(&result) | &hosts(&second));
    let gateways: Vec<&Value> = result["ips"].as_array().unwrap().iter().map(|ip| &ip["gateway"]).collect();
    assert_eq!(gateways, [GATEWAY, "fd00:1::1"]);
    let description: Value = serde_json::from_slice(&fs::read(pod.volume.join("net1.json")).unwrap()).unwrap();
    assert_eq!((&description["type"], &description["mode"]), (&json!("memif"), &json!("IP")));
    assert_eq!(
        description["ips"],
        json!([{"address": result["ips"][0]["address"], "gateway": GATEWAY}, {"address": result["ips"][1]["address"], "gateway": "fd00:1::1"}])
    );
    node.del(&pod, "net1").assert_done();
    assert_eq!(routed(node), hosts(&second));
    node.del(&pod, "net1").assert_done();
    node.del(&other, "net1").assert_done();
    assert_eq!(routed(node), BTreeSet::new());
    assert_eq!(all(node, MemifDump {}), []);
}

fn a_pod_without_a_routed_address_is_refused(node: &mut TestNode) {
    let pod = node.pod("p");
    program(node, &port_types::memif_in_ip_mode(), None);
    let message = node.add(&pod, "net1").message(7);
    assert!(message.contains("no address") && message.contains("spec.ipam"), "{message}");
    // The address may be in the subnet of another network.
    let ipam = json!({"type": "static", "addresses": [{"address": "10.99.0.5/24"}]});
    if tool("static").is_some() {
        program(node, &port_types::memif_in_ip_mode(), Some(ipam));
        let message = node.add(&pod, "net1").message(7);
        assert!(message.contains("10.99.0.5") && message.contains("spec.gateway.addresses"), "{message}");
    }
    assert_eq!((all(node, MemifDump {}), routed(node)), (Vec::new(), BTreeSet::new()));
    node.assert_no_files();
}

fn an_address_of_another_pod_is_not_routed_to_a_second_one(node: &mut TestNode) {
    if tool("static").is_none() {
        return;
    }
    let ipam = json!({"type": "static", "addresses": [{"address": "10.56.0.4/29"}]});
    program(node, &port_types::memif_in_ip_mode(), Some(ipam));
    let (pod, other) = (node.pod("p"), node.pod("q"));
    node.add(&pod, "net1").result();
    let message = node.add(&other, "net1").message(7);
    assert!(message.contains("10.56.0.4"), "{message}");
    assert_eq!(routed(node), BTreeSet::from(["10.56.0.4/32".to_owned()]));
    node.del(&pod, "net1").assert_done();
    node.add(&other, "net1").result();
    node.del(&other, "net1").assert_done();
}

/// The configuration is one of Intel's userspace CNI.
fn a_pod_of_a_configuration_with_net_type_interface_attaches(node: &mut TestNode) {
    if tool("static").is_none() {
        return;
    }
    program(node, &port_types::memif_in_ip_mode(), None);
    let mut configuration = legacy_memif(node);
    configuration["host"]["netType"] = "interface".into();
    configuration["host"]["memif"]["mode"] = "ip".into();
    configuration["container"]["memif"]["mode"] = "ip".into();
    configuration["ipam"] = json!({"type": "static", "addresses": [{"address": "10.56.0.4/29"}]});
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(result["ips"][0]["address"], "10.56.0.4/29");
    assert_eq!(routed(node), BTreeSet::from(["10.56.0.4/32".to_owned()]));
    let written = fs::read_dir(&pod.volume).unwrap().map(|entry| entry.unwrap().path());
    let mut written = written.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("configData-"));
    let data = written.next();
    let data: Value = serde_json::from_slice(&fs::read(data.unwrap()).unwrap()).unwrap();
    assert_eq!((&data["config"]["memif"]["mode"], &data["config"]["netType"]), (&json!("ip"), &json!("interface")));
    // A configuration for a bridge does not fit.
    let other = node.pod("q");
    let message = node.call("ADD", &other, "net1", &legacy_memif(node)).message(7);
    assert!(message.contains("host.memif.mode"), "{message}");
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    assert_eq!(routed(node), BTreeSet::new());
}
