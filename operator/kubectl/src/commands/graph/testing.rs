//! Clusters for tests of pictures and pages: a small one with one problem, and a large one.

use crate::model::Snapshot;
use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::testing::{
    add, add_network, condition, merge, network_object, network_report, node_object, snapshot, state_object, usnet_pod,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The interfaces of a pod: network, interface and address.
type Ports<'a> = &'a [(&'a str, &'a str, &'a str)];

/// A running pod with these interfaces; without addresses they are not attached.
fn pod(snapshot: &mut Snapshot, (namespace, name): (&str, &str), node: &str, ports: Ports<'_>, is_attached: bool) {
    let element = |(network, interface, _): &(&str, &str, &str)| json!({"name": network, "interface": interface});
    let elements: Vec<_> = ports.iter().map(element).collect();
    let status = |(network, interface, address): &(&str, &str, &str)| json!({"name": format!("{namespace}/{network}"), "interface": interface, "ips": [address]});
    let statuses: Vec<_> = ports.iter().map(status).collect();
    let mut object = json!({
        "kind": "Pod",
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("uid of {name}"), "creationTimestamp": "1970-01-01T00:50:00Z",
            "annotations": {"k8s.v1.cni.cncf.io/networks": Value::from(elements).to_string()},
        },
        "spec": {"nodeName": node, "containers": [{"name": "app", "image": "app:1"}]},
        "status": {"phase": "Pending", "containerStatuses": [{
            "name": "app", "image": "app:1", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ContainerCreating"}},
        }]},
    });
    if is_attached {
        let running = json!({
            "metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": Value::from(statuses).to_string()}},
            "status": {"phase": "Running", "containerStatuses": [{
                "name": "app", "image": "app:1", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}},
            }]},
        });
        merge(&mut object, &running);
    }
    add(snapshot, &object);
}

fn with_vni(mut network: Value, vni: u64) -> Value {
    merge(&mut network, &json!({"status": {"overlay": {"vni": vni}}}));
    network
}

fn overlay() -> Value {
    json!({"topology": {"type": "Overlay", "overlay": {}}})
}

fn uplink(vlan: usize) -> Value {
    json!({"topology": {"type": "Uplink", "uplink": {"name": "fab", "vlan": vlan}}})
}

fn uplink_report(nic: &str) -> Value {
    json!([{"name": "fab", "generation": 1, "state": "Programmed", "nic": nic}])
}

/// Two nodes, three networks and five pods, of which the program of one is not connected.
pub(crate) fn small() -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({"port": {"vlan": {"mode": "Access", "tag": 100}}})));
    add_network(&mut snapshot, &with_vni(network_object("storage", &overlay()), 8_388_608));
    add_network(&mut snapshot, &network_object("fabric", &uplink(142)));
    let message = "interface net1: Open vSwitch connects, and the program has to listen on /run/usnet/net1.sock";
    let degraded = json!([{"pod": "db/mysql-1", "uid": "uid of mysql-1", "interface": "net1", "reason": "NotConnected", "message": message}]);
    let networks = json!([
        network_report("blue", "Programmed", &json!({"attachments": 2, "connected": 2})),
        network_report("fabric", "Programmed", &json!({"attachments": 1, "connected": 1})),
        network_report("storage", "Programmed", &json!({"attachments": 2, "connected": 2})),
    ]);
    let mut state = state_object("node-a", &networks);
    state["status"]["uplinks"] = uplink_report("ens3f0");
    add(&mut snapshot, &state);
    let networks = json!([
        network_report("fabric", "Programmed", &json!({"attachments": 1, "connected": 1})),
        network_report("storage", "Programmed", &json!({"attachments": 2, "connected": 1, "degraded": degraded})),
    ]);
    let mut state = state_object("node-b", &networks);
    state["status"]["uplinks"] = uplink_report("ens3f0");
    add(&mut snapshot, &state);
    pod(&mut snapshot, ("web", "front-0"), "node-a", &[("blue", "net1", "10.56.217.4")], true);
    let ports =
        [("blue", "net1", "10.56.217.5"), ("fabric", "net2", "192.168.142.11"), ("storage", "net3", "10.70.0.5")];
    pod(&mut snapshot, ("web", "gateway-0"), "node-a", &ports, true);
    pod(&mut snapshot, ("db", "mysql-0"), "node-a", &[("storage", "net1", "10.70.0.6")], true);
    pod(&mut snapshot, ("db", "mysql-1"), "node-b", &[("storage", "net1", "10.70.1.6")], true);
    let ports = [("fabric", "net1", "192.168.142.12"), ("storage", "net2", "10.70.1.7")];
    pod(&mut snapshot, ("web", "probe-7d9f8c6b5-x2x8k"), "node-b", &ports, true);
    count(&mut snapshot);
    snapshot
}

/// Writes the numbers of interfaces into the statuses of networks, as the controller does.
fn count(snapshot: &mut Snapshot) {
    let mut numbers: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for report in snapshot.reports.values().flat_map(|status| &status.networks) {
        let entry = numbers.entry(report.name.clone()).or_default();
        *entry = (entry.0 + report.attachments, entry.1 + report.connected);
    }
    for (name, network) in &mut snapshot.cache.networks {
        if let (Some(status), Some((attachments, connected))) = (&mut network.status, numbers.get(name)) {
            (status.attachments, status.connected) = (*attachments, *connected);
        }
    }
}

pub(crate) const NODES: usize = 200;
pub(crate) const NETWORKS: usize = 50;

/// The network that fails on twelve nodes.
const FAILED: usize = 10;
const MTU_TOO_LARGE: &str = "bridge.mtu 9000 is larger than the 1450 bytes that the NIC of the node carries for VXLAN";

/// A network as the controller reports it when nodes fail, of which it names ten.
fn failed(mut network: Value) -> Value {
    let failure =
        |index| json!({"node": format!("worker-{index:03}"), "reason": "MtuTooLarge", "message": MTU_TOO_LARGE});
    let failures: Vec<_> = (20..30).map(failure).collect();
    let conditions = json!([
        condition("Ready", "False", "MtuTooLarge", "programmed on 188 of 200 nodes"),
        condition("Accepted", "True", "Valid", ""),
        condition("Stalled", "True", "MtuTooLarge", "see Ready"),
    ]);
    merge(&mut network, &json!({"status": {"conditions": conditions, "failures": failures}}));
    network
}

/// 200 nodes with 50 networks of all kinds. Each `every`th node has twelve interfaces of eight
/// pods. On one node Open vSwitch is gone, on twelve a network fails, one is NotReady, and some
/// programs are not connected.
pub(crate) fn large(every: usize) -> Snapshot {
    let mut found = Snapshot { usnet_pods: Vec::new(), ..snapshot() };
    found.cache.nodes.clear();
    found.cache.states.clear();
    found.reports.clear();
    found.usnet_pods.extend(["node-a", "node-b"].map(|node| usnet_pod(CONTROLLER, node)));
    for index in 0..NETWORKS {
        let name = network(index);
        let object = match index % 5 {
            0 | 1 => with_vni(network_object(&name, &overlay()), 8_388_608 + index as u64),
            2 => network_object(&name, &uplink(100 + index)),
            3 => {
                let mut spec = json!({"engine": "VPP", "bridge": {"id": 100 + index}});
                merge(&mut spec, &overlay());
                with_vni(network_object(&name, &spec), 8_388_608 + index as u64)
            }
            _ => network_object(&name, &json!({"port": {"vlan": {"mode": "Access", "tag": 100 + index}}})),
        };
        add_network(&mut found, &if index == FAILED { failed(object) } else { object });
    }
    for index in 1..=NODES {
        add_node(&mut found, index, index.is_multiple_of(every));
    }
    count(&mut found);
    found
}

fn network(index: usize) -> String {
    let use_of = ["storage", "backup", "fabric", "packet-core", "lab"].get(index % 5).copied().unwrap_or_default();
    format!("t{:02}-{use_of}", index / 5 + 1)
}

fn add_node(snapshot: &mut Snapshot, index: usize, has_pods: bool) {
    let name = format!("worker-{index:03}");
    let mut node = node_object(&name);
    if index == 180 {
        node["status"]["conditions"][0]["status"] = json!("False");
    }
    add(snapshot, &node);
    let mut networks = BTreeMap::new();
    if (20..32).contains(&index) {
        let failed = json!({"reason": "MtuTooLarge", "message": MTU_TOO_LARGE});
        networks.insert(network(FAILED), network_report(&network(FAILED), "Failed", &failed));
    }
    if has_pods {
        add_pods(snapshot, index, &mut networks);
    }
    let mut state = state_object(&name, &networks.into_values().collect());
    state["status"]["uplinks"] = uplink_report(if index.is_multiple_of(2) { "ens3f0" } else { "ens5f1" });
    if index == 117 {
        state["status"]["conditions"][1] = condition(
            "OVSConnected",
            "False",
            "Disconnected",
            "no connection to Open vSwitch: start ovs-vswitchd, and see its log",
        );
        state["status"]["engines"] = json!([{"engine": "VPP", "version": "26.06", "epoch": 1}]);
    }
    add(snapshot, &state);
    snapshot.usnet_pods.push(usnet_pod(AGENT, &name));
}

/// Eight pods, of which four have a second interface, on three to five networks.
fn add_pods(snapshot: &mut Snapshot, index: usize, networks: &mut BTreeMap<String, Value>) {
    let node = format!("worker-{index:03}");
    let mut numbers: BTreeMap<String, (i64, Vec<Value>)> = BTreeMap::new();
    for number in 0..8 {
        let pod_name = format!("upf-{index}-{number}");
        let first = network((index + number / 3) % NETWORKS);
        let second = network((index + 7) % NETWORKS);
        let (one, other) = (format!("10.{}.{index}.{number}", 60 + number), format!("10.90.{index}.{number}"));
        let mut ports = vec![(first.as_str(), "net1", one.as_str())];
        if number % 2 == 1 {
            ports.push((second.as_str(), "net2", other.as_str()));
        }
        for (network, interface, _) in &ports {
            let entry = numbers.entry((*network).to_owned()).or_default();
            entry.0 += 1;
            if number == 5 && index.is_multiple_of(4) && *interface == "net1" {
                entry.1.push(json!({
                    "pod": format!("web/{pod_name}"), "uid": format!("uid of {pod_name}"), "interface": interface,
                    "reason": "NotConnected", "message": "the program has to listen on /run/usnet/net1.sock",
                }));
            }
        }
        pod(snapshot, ("web", &pod_name), &node, &ports, true);
    }
    for (network, (attachments, degraded)) in numbers {
        let connected = attachments - i64::try_from(degraded.len()).unwrap_or_default();
        let report = json!({"attachments": attachments, "connected": connected, "degraded": degraded});
        networks.insert(network.clone(), network_report(&network, "Programmed", &report));
    }
}
