//! Configurations of Intel's userspace CNI: their pods attach to the network of the bridge, and
//! their paths are not used.

use crate::support::engine::on_each_engine;
use crate::support::legacy::legacy;
use crate::support::tools::tool;
use crate::support::{NETWORK, TestNode};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use usnet_crds::{EngineKind, NetworkName, Vlan};
use usnet_dataplane::network_file::NetworkFile;

on_each_engine! {
    a_pod_attaches_to_the_network_that_has_the_bridge,
    no_path_of_the_configuration_is_opened,
    unsupported_configurations_are_rejected_by_add_and_accepted_by_del,
    add_waits_for_a_network_with_the_bridge_and_names_the_bridge,
    a_pod_of_another_namespace_is_rejected,
    mismatching_settings_are_rejected_by_key,
    the_agents_reason_is_passed_on,
    the_legacy_volume_is_used,
    ipam_of_the_configuration_is_called_regardless_of_case,
    a_mac_of_the_configuration_is_in_the_description,
}

fn with(mut configuration: Value, pointer: &str, value: Value) -> Value {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    configuration.pointer_mut(above).unwrap()[key] = value;
    configuration
}

fn a_pod_attaches_to_the_network_that_has_the_bridge(node: &mut TestNode) {
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &legacy(node)).result();
    assert_eq!(result["cniVersion"], "0.3.1");
    assert_eq!(pod.description("net1")["network"], NETWORK);
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.call("DEL", &pod, "net1", &legacy(node)).assert_done();
    node.assert_clean();
}

/// Threat T2: keys that named paths on the host.
fn no_path_of_the_configuration_is_opened(node: &mut TestNode) {
    let folder = Path::new("/run/traps");
    fs::create_dir(folder).unwrap();
    // Opening a FIFO blocks until its other end is opened.
    nix::unistd::mkfifo(&folder.join("kubeconfig"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut configuration = legacy(node);
    configuration["kubeconfig"] = "/run/traps/kubeconfig".into();
    configuration["logFile"] = "/run/traps/log".into();
    configuration["sharedDir"] = "/run/traps/shared/".into();
    configuration["host"]["vhost"]["group"] = "root".into();
    let pod = node.pod("p");
    node.call("ADD", &pod, "net1", &configuration).result();
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["kubeconfig"]);
    node.assert_clean();
}

fn unsupported_configurations_are_rejected_by_add_and_accepted_by_del(node: &mut TestNode) {
    let pod = node.pod("p");
    for (pointer, value, key) in [
        ("/host/vhost/socketfile", json!("../../../etc/x"), "host.vhost.socketfile"),
        ("/host/bridge/bridgeName", json!("--"), "host.bridge.bridgeName"),
        ("/host/netType", json!("none"), "host.netType"),
        ("/container/vhost/mode", json!("client"), "container.vhost.mode"),
        ("/args", json!({"cni": {"OvnPort": "x"}}), "args.cni.OvnPort"),
    ] {
        let configuration = with(legacy(node), pointer, value);
        let message = node.call("ADD", &pod, "net1", &configuration).message(7);
        assert!(message.contains(&format!("\"{key}\"")), "{message}");
        node.call("DEL", &pod, "net1", &configuration).assert_done();
    }
    node.assert_clean();
}

fn add_waits_for_a_network_with_the_bridge_and_names_the_bridge(node: &mut TestNode) {
    let (bridge, network) = match node.engine.kind() {
        EngineKind::OpenVswitch => ("br0", "ovs-br0"),
        EngineKind::Vpp => ("77", "vpp-77"),
    };
    let configuration = with(legacy(node), "/host/bridge/bridgeName", json!(bridge));
    let message = node.call("ADD", &node.pod("p"), "net1", &configuration).message(11);
    for part in [bridge, &format!("kubectl describe usn {network}")] {
        assert!(message.contains(part), "{part}: {message}");
    }
    node.assert_clean();
}

/// Threat T4: a pod that names a NAD of another namespace.
fn a_pod_of_another_namespace_is_rejected(node: &mut TestNode) {
    let mut pod = node.pod("p");
    pod.namespace = "web".to_owned();
    let message = node.call("ADD", &pod, "net1", &legacy(node)).message(100);
    assert!(message.contains("web/p") && message.contains(NETWORK), "{message}");
    node.assert_clean();
}

fn mismatching_settings_are_rejected_by_key(node: &mut TestNode) {
    let pod = node.pod("p");
    let mut network = node.program_network(NETWORK, None);
    network.port.vlan = Some(Vlan::Access { tag: 7.try_into().unwrap() });
    node.publish(network);
    let message = node.call("ADD", &pod, "net1", &legacy(node)).message(7);
    let expected = "\"host.bridge.vlanId\" requests no VLAN, and the network has VLAN 7";
    assert!(message.contains(expected) && message.contains(&node.bridge()), "{message}");
    let agreeing = with(legacy(node), "/host/bridge/vlanId", json!(7));
    node.call("ADD", &pod, "net1", &agreeing).result();
    node.call("DEL", &pod, "net1", &agreeing).assert_done();
    node.assert_clean();
}

fn the_agents_reason_is_passed_on(node: &mut TestNode) {
    let bridge = match node.engine.kind() {
        EngineKind::OpenVswitch => "br0",
        EngineKind::Vpp => "77",
    };
    let name = NetworkName::for_bridge(node.engine.kind(), &bridge.parse().unwrap());
    let configuration = with(legacy(node), "/host/bridge/bridgeName", json!(bridge));
    node.publish_unavailable(name.as_str(), "BridgeExists", "a bridge of that name is there");
    let rejected = node.call("ADD", &node.pod("p"), "net1", &configuration).message(11);
    assert!(rejected.contains("BridgeExists") && rejected.contains("a bridge of that name is there"), "{rejected}");
    node.publish_file(&NetworkFile::Draining { name });
    node.call("ADD", &node.pod("p"), "net1", &configuration).message(101);
    node.assert_clean();
}

fn the_legacy_volume_is_used(node: &mut TestNode) {
    let pod = node.pod("p");
    let volume = pod.volume.with_file_name("shared-dir");
    fs::create_dir(&volume).unwrap();
    fs::remove_dir(&pod.volume).unwrap();
    let result = node.call("ADD", &pod, "net1", &legacy(node)).result();
    assert_eq!(result["interfaces"][0]["name"], "net1");
    assert!(volume.join("net1.json").exists());
    node.call("DEL", &pod, "net1", &legacy(node)).assert_done();
    assert_eq!(fs::read_dir(&volume).unwrap().count(), 0);
    node.assert_clean();

    // A link is not a volume of kubelet, whatever its target.
    fs::remove_dir(&volume).unwrap();
    std::os::unix::fs::symlink("/run", &volume).unwrap();
    node.call("ADD", &pod, "net1", &legacy(node)).message(102);
    fs::remove_file(&volume).unwrap();
    let message = node.call("ADD", &pod, "net1", &legacy(node)).message(102);
    assert!(message.contains("volumes: [{name: usnet, emptyDir: {}}]"), "{message}");
    node.assert_clean();
}

fn ipam_of_the_configuration_is_called_regardless_of_case(node: &mut TestNode) {
    if tool("host-local").is_none() {
        return;
    }
    let pod = node.pod("p");
    let mut configuration = legacy(node);
    configuration["IPAM"] = json!({"Type": "host-local", "subnet": "10.56.217.0/24", "rangeStart": "10.56.217.131", "dataDir": "/run/leases"});
    node.allow_ipam(&["host-local"], &["dataDir"]);
    let result = node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(result["ips"][0]["address"], "10.56.217.131/24");
    assert!(Path::new("/run/leases/old-net/10.56.217.131").exists(), "kept under the configuration's own name");
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    assert!(!Path::new("/run/leases/old-net/10.56.217.131").exists());
    node.assert_clean();
}

fn a_mac_of_the_configuration_is_in_the_description(node: &mut TestNode) {
    let configuration = with(legacy(node), "/container/mac", json!("02:00:00:00:00:07"));
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(result["interfaces"][0]["mac"], "02:00:00:00:00:07");
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    node.assert_clean();
}
