//! ADD and DEL of each port type, and its description for the pod.

use crate::support::engine::on_each_vpp;
use crate::support::output::Output;
use crate::support::vpp::VppSnapshot;
use crate::support::{NETWORK, TestNode, port_types};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use usnet_crds::{MemifSecretKind, MemifSocketKind, Mtu, Port, Queues, RingSize};

on_each_vpp! {
    a_memif_in_the_volume,
    a_memif_in_the_network_namespace_needs_no_volume,
    a_vhost_user_socket_that_vpp_listens_on,
    every_port_type_is_attached_twice_and_detached_twice,
    a_secret_is_known_to_vpp_and_the_pod_alone,
    a_secret_in_the_network_namespace_needs_the_volume,
    the_networks_settings_reach_the_port,
    abstract_sockets_of_two_pods_have_one_name,
}

fn attach(node: &TestNode, port: &Port) -> Output {
    node.program_network_with(NETWORK, port, None);
    node.add(&node.pod("p"), "net1")
}

/// Asserts that users other than root can connect to the socket.
#[track_caller]
fn assert_open_socket(path: &Path) {
    let metadata = fs::symlink_metadata(path).unwrap();
    assert!(metadata.file_type().is_socket(), "{metadata:?}");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o777);
}

fn a_memif_in_the_volume(node: &mut TestNode) {
    let result = attach(node, &port_types::memif_in_volume()).result();
    let pod = node.pod("p");
    let socket = pod.directory.join("net1.sock");
    assert_eq!(node.engine.sockets(&node.bridge()), [socket.to_str().unwrap()]);
    assert_open_socket(&pod.volume.join("net1.sock"));
    let interface = &result["interfaces"][0];
    assert_eq!(interface["socketPath"], socket.to_str().unwrap());
    let described = json!({
        "version": 1, "network": NETWORK, "interface": "net1", "type": "memif", "role": "client", "id": 0,
        "socket": "net1.sock", "mac": interface["mac"], "mtu": 1500, "queues": 1, "ringSize": 1024, "ips": []
    });
    assert_eq!(pod.description("net1"), described);
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
    // VPP keeps the file.
    assert_eq!(fs::read_dir(&pod.volume).unwrap().count(), 0);
}

fn a_memif_in_the_network_namespace_needs_no_volume(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif_in_namespace(), None);
    let pod = node.pod("p");
    fs::remove_dir(&pod.volume).unwrap();
    let result = node.add(&pod, "net1").result();
    let socket = format!("abstract:net1,netns_name={}", node.network_namespace().display());
    assert_eq!(node.engine.sockets(&node.bridge()), [socket]);
    assert_eq!(result["interfaces"][0].get("socketPath"), None, "it has no path");
    assert_eq!(node.mounts(), []);
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn a_vhost_user_socket_that_vpp_listens_on(node: &mut TestNode) {
    attach(node, &port_types::vhost_user_server()).result();
    let pod = node.pod("p");
    assert_eq!(node.engine.sockets(&node.bridge()), [pod.directory.join("net1.sock").to_str().unwrap()]);
    assert_open_socket(&pod.volume.join("net1.sock"));
    let described = pod.description("net1");
    assert_eq!((&described["type"], &described["role"]), (&json!("vhost-user"), &json!("client")));
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
    assert_eq!(fs::read_dir(&pod.volume).unwrap().count(), 0);
}

fn every_port_type_is_attached_twice_and_detached_twice(node: &mut TestNode) {
    for port in port_types::all() {
        let first = attach(node, &port).result();
        let pod = node.pod("p");
        let ports = node.ports(NETWORK);
        assert_eq!(node.add(&pod, "net1").result(), first);
        assert_eq!(node.ports(NETWORK), ports, "{port:?}");
        for _ in 0..2 {
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
        }
    }
}

fn a_secret_is_known_to_vpp_and_the_pod_alone(node: &mut TestNode) {
    let added = attach(node, &port_types::memif(MemifSocketKind::Volume, MemifSecretKind::Generated));
    added.result();
    let pod = node.pod("p");
    let secret = pod.description("net1")["secret"].as_str().expect("a secret").to_owned();
    assert_eq!(secret.len(), 23);
    let [record] = node.records().try_into().unwrap();
    assert_eq!(fs::metadata(&record).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&record).unwrap().contains(&secret), "the agent needs it after a restart of VPP");

    let again = node.add(&pod, "net1");
    node.engine.kill();
    let deleted = node.del(&pod, "net1");
    for output in [added, again, deleted] {
        assert!(!format!("{output:?}").contains(&secret), "{output:?}");
    }
    node.engine.start_again();
    node.del(&pod, "net1").assert_done();
    node.assert_no_files();
    // The next attachment has another secret.
    attach(node, &port_types::memif(MemifSocketKind::Volume, MemifSecretKind::Generated)).result();
    assert_ne!(pod.description("net1")["secret"], secret);
}

fn a_secret_in_the_network_namespace_needs_the_volume(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif(MemifSocketKind::Abstract, MemifSecretKind::Generated), None);
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    let described = pod.description("net1");
    assert_eq!((&described["abstractSocket"], described.get("socket")), (&json!("net1"), None));
    assert!(described["secret"].is_string(), "{described}");
    node.del(&pod, "net1").assert_done();
    node.assert_clean();

    let without = node.pod("without");
    fs::remove_dir(&without.volume).unwrap();
    assert!(node.add(&without, "net1").message(102).contains("emptyDir"));
    node.assert_clean();
}

fn the_networks_settings_reach_the_port(node: &mut TestNode) {
    let port = Port {
        queues: Queues::try_from(4).unwrap(),
        ring_size: RingSize::try_from(256).unwrap(),
        ..port_types::memif_in_volume()
    };
    let mut network = node.program_network_with(NETWORK, &port, None);
    network.bridge.mtu = Mtu::try_from(9000).unwrap();
    node.publish(network);
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    assert_eq!(result["interfaces"][0]["mtu"], 9000);
    let described = pod.description("net1");
    let written = ["mtu", "queues", "ringSize"].map(|key| described[key].as_u64().unwrap());
    assert_eq!(written, [9000, 4, 256]);
    let [name] = node.ports(NETWORK).try_into().unwrap();
    assert_eq!(VppSnapshot::of(node.vpp()).interface(&name).mtu[0], 9000);
}

/// Each socket is in the namespace of its pod. The pods of this test share one namespace, so that
/// the second pod finds the name in use.
fn abstract_sockets_of_two_pods_have_one_name(node: &mut TestNode) {
    node.program_network_with(NETWORK, &port_types::memif_in_namespace(), None);
    let (one, other) = (node.pod("one"), node.pod("other"));
    node.add(&one, "net1").result();
    node.add(&other, "net2").result();
    assert_eq!(node.ports(NETWORK).len(), 2);
    node.add(&other, "net1").error();
    assert_eq!(node.ports(NETWORK).len(), 2);
    for (pod, interface) in [(&one, "net1"), (&other, "net2")] {
        node.del(pod, interface).assert_done();
    }
    node.assert_clean();
}
