//! Requests of a pod's annotation, as Multus passes them, on real engines with the real host-local.

use crate::support::engine::on_each_engine;
use crate::support::ipam::host_local_with;
use crate::support::{NETWORK, TestNode, configuration, port_types, record_in, with_result};
use serde_json::{Value, json};
use std::fs;
use usnet_crds::{EngineKind, MemifSecretKind, MemifSocketKind, Port};

on_each_engine! {
    a_pod_gets_the_mac_and_the_addresses_that_it_requests,
    an_address_that_another_pod_holds_is_rejected_with_its_name,
    without_ipam_requested_addresses_with_a_prefix_are_used,
    a_pod_may_request_less_bandwidth_than_its_network_allows_but_not_more,
    port_mappings_are_rejected_and_nothing_is_left,
    device_info_is_written_only_to_the_folder_of_the_runtime,
    gateway_routes_and_dns_reach_the_result_and_the_description,
    two_addresses_can_be_requested_from_each_source,
}

/// The configuration of the network that every node has, with a `runtimeConfig` of Multus.
fn requesting(runtime: Value) -> Value {
    let mut configuration = configuration(NETWORK);
    configuration["runtimeConfig"] = runtime;
    configuration
}

/// A configuration of host-local for both families with these additional keys; none where it was
/// not built.
fn host_local(more: &Value) -> Option<Value> {
    let mut ipam = host_local_with(&json!([[{"subnet": "10.56.0.0/24"}], [{"subnet": "fd00:56::/64"}]]))?;
    ipam.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Some(ipam)
}

fn addresses(result: &Value) -> Vec<&str> {
    result["ips"].as_array().unwrap().iter().map(|ip| ip["address"].as_str().unwrap()).collect()
}

fn a_pod_gets_the_mac_and_the_addresses_that_it_requests(node: &mut TestNode) {
    let Some(ipam) = host_local(&json!({})) else { return };
    node.program_network(NETWORK, Some(ipam));
    let request = json!({"mac": "02:23:45:67:89:01", "ips": ["10.56.0.42/24", "fd00:56::42/64"]});
    let result = node.call("ADD", &node.pod("p"), "net1", &requesting(request)).result();
    assert_eq!(addresses(&result), ["10.56.0.42/24", "fd00:56::42/64"]);
    assert_eq!(result["interfaces"][0]["mac"], "02:23:45:67:89:01");
}

fn an_address_that_another_pod_holds_is_rejected_with_its_name(node: &mut TestNode) {
    let Some(ipam) = host_local(&json!({})) else { return };
    node.program_network(NETWORK, Some(ipam));
    let request = || requesting(json!({"ips": ["10.56.0.42"]}));
    node.call("ADD", &node.pod("first"), "net1", &request()).result();
    let message = node.call("ADD", &node.pod("second"), "net1", &request()).message(7);
    assert!(message.contains("10.56.0.42") && message.contains("db/first"), "{message}");
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.call("DEL", &node.pod("first"), "net1", &request()).assert_done();
    node.call("ADD", &node.pod("second"), "net1", &request()).result();
}

fn without_ipam_requested_addresses_with_a_prefix_are_used(node: &mut TestNode) {
    let pod = node.pod("p");
    let message = node.call("ADD", &pod, "net1", &requesting(json!({"ips": ["10.9.0.7"]}))).message(7);
    assert!(message.contains("10.9.0.7/24"), "{message}");
    let result = node.call("ADD", &pod, "net1", &requesting(json!({"ips": ["10.9.0.7/16", "fd00::7/64"]}))).result();
    assert_eq!(addresses(&result), ["10.9.0.7/16", "fd00::7/64"]);
    assert_eq!(pod.description("net1")["ips"], json!([{"address": "10.9.0.7/16"}, {"address": "fd00::7/64"}]));
}

fn a_pod_may_request_less_bandwidth_than_its_network_allows_but_not_more(node: &mut TestNode) {
    let standard = match node.engine.kind() {
        EngineKind::OpenVswitch => port_types::vhost_user(),
        EngineKind::Vpp => port_types::memif(MemifSocketKind::Volume, MemifSecretKind::None),
    };
    let limit = |ingress: i64| serde_json::from_value(json!({"ingressKbps": ingress})).unwrap();
    node.program_network_with(NETWORK, &Port { rate_limit: limit(5000), ..standard }, None);
    for (index, (requested, given)) in [(4_000_000, 4000), (9_000_000, 5000)].into_iter().enumerate() {
        let request =
            requesting(json!({"bandwidth": {"ingressRate": requested, "ingressBurst": 1600, "egressRate": 7_000_000}}));
        let pod = node.pod(&format!("p{index}"));
        node.call("ADD", &pod, "net1", &request).result();
        let record = record_in(&node.records()[0]);
        let settings = &record["port"]["settings"]["rateLimit"];
        assert_eq!(*settings, json!({"ingressKbps": given, "egressKbps": 7000}));
        let result =
            json!({"interfaces": [{"name": "net1", "sandbox": node.network_namespace(), "mac": record["mac"]}]});
        // The engine has the requested rate, and the agent would keep it.
        node.call("CHECK", &pod, "net1", &with_result(&request, &result)).assert_done();
        node.call("DEL", &pod, "net1", &request).assert_done();
    }
}

fn port_mappings_are_rejected_and_nothing_is_left(node: &mut TestNode) {
    let request = requesting(json!({"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}));
    let message = node.call("ADD", &node.pod("p"), "net1", &request).message(2);
    assert!(message.contains("portMappings") && message.contains("8080"), "{message}");
    node.assert_clean();
}

fn gateway_routes_and_dns_reach_the_result_and_the_description(node: &mut TestNode) {
    let resolver = "/run/resolv.conf";
    fs::write(resolver, "nameserver 10.1.0.1\nsearch example.org\n").unwrap();
    let routes = json!([{"dst": "0.0.0.0/0", "gw": "10.56.0.9"}]);
    let Some(ipam) = host_local(&json!({"routes": routes, "resolvConf": resolver})) else { return };
    node.program_network(NETWORK, Some(ipam));
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let description = pod.description("net1");
    assert_eq!(description["ips"][0], json!({"address": "10.56.0.2/24", "gateway": "10.56.0.1"}));
    for reported in [&result, &description] {
        assert_eq!(reported["routes"], routes);
        assert_eq!(reported["dns"], json!({"nameservers": ["10.1.0.1"], "search": ["example.org"]}));
    }
}

fn device_info_is_written_only_to_the_folder_of_the_runtime(node: &mut TestNode) {
    let pod = node.pod("p");
    let file = node.paths.device_info.join("db-blue-c1_net1");
    let stolen = node.paths.state.join("passwd");
    let message = node.call("ADD", &pod, "net1", &requesting(json!({"CNIDeviceInfoFile": stolen}))).message(2);
    assert!(message.contains("CNIDeviceInfoFile") && !stolen.exists(), "{message}");
    node.assert_clean();
    // The file of an earlier pod has the same path.
    fs::create_dir_all(&node.paths.device_info).unwrap();
    fs::write(&file, "{}").unwrap();
    let configuration = requesting(json!({"CNIDeviceInfoFile": file}));
    node.call("ADD", &pod, "net1", &configuration).result();
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let vhost_user = json!({"mode": "server", "path": "/run/usnet/net1.sock"});
    assert_eq!(written, json!({"type": "vhost-user", "version": "1.1.0", "vhost-user": vhost_user}));
}

fn two_addresses_can_be_requested_from_each_source(node: &mut TestNode) {
    let Some(ipam) = host_local(&json!({})) else { return };
    let ips = json!(["10.56.0.42/24", "fd00:56::42/64"]);
    let ways = [
        (json!({"runtimeConfig": {"ips": ips}}), ""),
        (json!({"args": {"cni": {"ips": ips}}}), ""),
        (json!({}), ";IP=10.56.0.42/24,fd00:56::42/64"),
        // The first source takes precedence.
        (json!({"runtimeConfig": {"ips": ips}, "args": {"cni": {"ips": ["10.56.0.66/24"]}}}), ";IP=10.56.0.77/24"),
        (json!({"args": {"cni": {"ips": ips}}}), ";IP=10.56.0.77/24"),
    ];
    for ipam in [Some(ipam), None] {
        node.program_network(NETWORK, ipam.clone());
        for (keys, arguments) in &ways {
            let pod = node.pod("p");
            let mut configuration = configuration(NETWORK);
            for (key, value) in keys.as_object().unwrap() {
                configuration[key] = value.clone();
            }
            let arguments = format!("{}{arguments}", pod.arguments());
            let output = node.call_in("ADD", &pod, "net1", &configuration, &[("CNI_ARGS", &arguments)]);
            assert_eq!(addresses(&output.result()), ["10.56.0.42/24", "fd00:56::42/64"], "{keys} {arguments} {ipam:?}");
            node.call_in("DEL", &pod, "net1", &configuration, &[("CNI_ARGS", &arguments)]).assert_done();
        }
    }
    node.assert_clean();
}
