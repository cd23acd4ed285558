//! The gateway of a network is in the result, in the description and in the pod, and no pod gets
//! its address.

use crate::support::engine::on_each_vpp;
use crate::support::ipam::host_local_with;
use crate::support::{NETWORK, TestNode, ip, port_types};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use usnet_crds::{Gateway, NodeNetwork, Port};
use usnet_test_vpp::Kind;

/// An address that is neither the first nor the last of its subnet.
pub(super) const GATEWAY: &str = "10.56.0.3";

on_each_vpp! {
    a_pod_reaches_the_gateway_that_its_result_names,
    the_description_has_the_gateway_and_the_routes,
    no_pod_gets_the_address_of_the_gateway,
    a_gateway_that_ipam_names_stays,
}

/// Programs the network with this gateway, which VPP has as the agent creates it.
pub(super) fn program(node: &TestNode, port: &Port, ipam: Option<Value>) {
    let addresses = vec![format!("{GATEWAY}/29").parse().unwrap(), "fd00:1::1/64".parse().unwrap()];
    let gateway = Some(Gateway { addresses, routing_domain: None });
    let network = NodeNetwork { gateway, ..node.program_network_with(NETWORK, port, ipam) };
    node.engine.create_gateway(&network);
    node.publish(network);
}

/// host-local with these ranges and routes; none where it was not built.
fn host_local_with_routes(ranges: &Value, routes: &Value) -> Option<Value> {
    let mut ipam = host_local_with(ranges)?;
    ipam["routes"] = routes.clone();
    Some(ipam)
}

pub(super) fn both_families() -> Value {
    json!([[{"subnet": "10.56.0.0/29"}], [{"subnet": "fd00:1::/64"}]])
}

/// How many of five echo requests from the pod were answered, after a first one.
fn answered(address: &str) -> Option<u32> {
    let ping = |count: &str| {
        let arguments = ["--net=/run/netns/p", "busybox", "ping", "-c", count, "-i", "0.1", "-W", "1", address];
        let output = Command::new("nsenter").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    ping("1");
    ping("5").split("transmitted, ").nth(1)?.split(' ').next()?.parse().ok()
}

fn a_pod_reaches_the_gateway_that_its_result_names(node: &mut TestNode) {
    let Some(ipam) = host_local_with_routes(&both_families(), &json!([{"dst": "10.99.0.0/16"}, {"dst": "fd99::/64"}]))
    else {
        return;
    };
    program(node, &port_types::veth(), Some(ipam));
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let gateways: Vec<&Value> = result["ips"].as_array().unwrap().iter().map(|ip| &ip["gateway"]).collect();
    assert_eq!(gateways, [GATEWAY, "fd00:1::1"]);
    let routes = [ip(&["-n", "p", "route"]), ip(&["-n", "p", "-6", "route"])];
    assert!(routes[0].contains(&format!("10.99.0.0/16 via {GATEWAY} dev net1")), "{routes:?}");
    assert!(routes[1].contains("fd99::/64 via fd00:1::1 dev net1"), "{routes:?}");
    match node.vpp().kind() == Kind::Real {
        true => assert_eq!([GATEWAY, "fd00:1::1"].map(answered), [Some(5), Some(5)]),
        false => eprintln!("SKIPPED: the simulator moves no packets; with USNET_VPP the gateway is pinged"),
    }
    node.del(&pod, "net1").assert_done();
}

fn the_description_has_the_gateway_and_the_routes(node: &mut TestNode) {
    let Some(ipam) = host_local_with_routes(&json!([[{"subnet": "10.56.0.0/29"}]]), &json!([{"dst": "10.99.0.0/16"}]))
    else {
        return;
    };
    program(node, &port_types::memif_in_volume(), Some(ipam));
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    let description: Value = serde_json::from_slice(&fs::read(pod.volume.join("net1.json")).unwrap()).unwrap();
    assert_eq!(description["ips"][0]["gateway"], GATEWAY);
    assert_eq!(description["routes"][0]["dst"], "10.99.0.0/16");
    node.del(&pod, "net1").assert_done();
}

fn no_pod_gets_the_address_of_the_gateway(node: &mut TestNode) {
    let Some(ipam) = host_local_with(&json!([[{"subnet": "10.56.0.0/29"}]])) else { return };
    program(node, &port_types::memif_in_volume(), Some(ipam));
    let pods: Vec<_> = (0..6).map(|number| node.pod(&format!("p{number}"))).collect();
    let (last, others) = pods.split_last().unwrap();
    let address = |result: Value| result["ips"][0]["address"].as_str().unwrap().to_owned();
    let mut assigned: Vec<String> = others.iter().map(|pod| address(node.add(pod, "net1").result())).collect();
    assigned.sort();
    assert_eq!(assigned, ["10.56.0.1/29", "10.56.0.2/29", "10.56.0.4/29", "10.56.0.5/29", "10.56.0.6/29"]);
    node.add(last, "net1").message(108);
    others.iter().for_each(|pod| node.del(pod, "net1").assert_done());

    // Another plugin does not know the gateway.
    let ipam = json!({"type": "static", "addresses": [{"address": format!("{GATEWAY}/29")}]});
    program(node, &port_types::memif_in_volume(), Some(ipam));
    let message = node.add(last, "net1").message(7);
    assert!(message.contains(GATEWAY) && message.contains("spec.gateway"), "{message}");
    node.assert_no_files();
}

fn a_gateway_that_ipam_names_stays(node: &mut TestNode) {
    let ranges = json!([[{"subnet": "10.56.0.0/29", "gateway": "10.56.0.6"}]]);
    let Some(ipam) = host_local_with(&ranges) else { return };
    program(node, &port_types::memif_in_volume(), Some(ipam));
    let pod = node.pod("p");
    assert_eq!(node.add(&pod, "net1").result()["ips"][0]["gateway"], "10.56.0.6");
    node.del(&pod, "net1").assert_done();
}
