//! ADD and DEL on real engines, with the real host-local.

use crate::support::engine::on_each_engine;
use crate::support::ipam::{host_local, host_local_with, reserved_ips};
use crate::support::wait::await_that;
use crate::support::{NETWORK, TestNode, configuration, on_a_node, on_a_vpp_node};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixListener;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_plugin::attachment::attach::Step;
use usnet_test_vpp::Kind;

on_each_engine! {
    an_interface_of_an_object_ends_with_the_object_alone,
    add_creates_port_mount_and_description_and_del_removes_them,
    addresses_are_assigned_and_released_by_ipam,
    configurations_of_any_name_share_the_networks_addresses,
    ipam_of_the_configuration_is_used_on_a_network_without_ipam,
    a_failing_ipam_plugin_leaves_nothing_and_its_error_is_passed_on,
    two_interfaces_of_a_pod_share_its_directory,
    the_result_is_in_the_configurations_version,
    in_a_chain_the_earlier_result_is_passed_on,
    a_mac_address_requested_by_multus_is_used,
    a_repeated_add_returns_the_same_result,
    add_of_an_attached_interface_with_other_parameters_is_rejected,
    a_repeated_add_reports_what_is_missing,
    add_of_a_new_sandbox_detaches_the_previous_one,
}

/// A network with its own addresses. None without host-local.
fn with_addresses(node: &TestNode) -> Option<Value> {
    let mut ipam = host_local()?;
    ipam["routes"] = json!([{"dst": "10.0.0.0/8"}]);
    node.program_network("green", Some(ipam));
    Some(configuration("green"))
}

fn add_creates_port_mount_and_description_and_del_removes_them(node: &mut TestNode) {
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let socket = pod.directory.join("net1.sock");
    assert_eq!(node.engine.sockets(&node.bridge()), [socket.to_str().unwrap()]);

    let mac = result["interfaces"][0]["mac"].as_str().unwrap();
    let interface = json!({
        "name": "net1", "mac": mac, "mtu": 1500,
        "sandbox": node.network_namespace(), "socketPath": socket
    });
    assert_eq!(result, json!({"cniVersion": "1.1.0", "interfaces": [interface]}));
    let described = json!({
        "version": 1, "network": NETWORK, "interface": "net1", "type": "vhost-user", "role": "server",
        "socket": "net1.sock", "mac": mac, "mtu": 1500, "queues": 1, "ringSize": 1024, "ips": [],
        // docs/fast-programs.md
        "packedRings": node.engine.kind() == EngineKind::OpenVswitch,
    });
    assert_eq!(pod.description("net1"), described);

    node.del(&pod, "net1").assert_done();
    node.assert_clean();
    assert_eq!(fs::read_dir(&pod.volume).unwrap().count(), 0);
    node.del(&pod, "net1").assert_done();
}

#[test]
fn no_link_is_followed_in_the_mounted_directory() {
    on_a_node(|node| {
        let pod = node.pod("p");
        node.add(&pod, "net1").result();
        for (seen_by, mounts) in [("node", node.mounts()), ("engine in a container", node.mounts_of_switch())] {
            let [(path, options)] = mounts.try_into().unwrap();
            assert_eq!(path, pod.directory, "{seen_by}");
            let wanted = ["nosymfollow", "nosuid", "nodev", "noexec"].map(str::to_owned);
            assert!(options.is_superset(&BTreeSet::from(wanted)), "{seen_by}: {options:?}");
        }
        node.del(&pod, "net1").assert_done();
        assert_eq!(node.mounts_of_switch(), []);
    });
}

#[test]
fn open_vswitch_connects_to_the_socket_that_the_pods_program_creates() {
    on_a_node(connects_to_the_socket_that_the_pods_program_creates);
}

/// The simulator never connects.
#[test]
fn a_real_vpp_connects_to_the_socket_that_the_pods_program_creates() {
    on_a_vpp_node(Kind::Real, connects_to_the_socket_that_the_pods_program_creates);
}

fn connects_to_the_socket_that_the_pods_program_creates(node: &mut TestNode) {
    let pod = node.pod("p");
    // ADD removes the socket of an earlier program. A program that listens before ADD, such as
    // QEMU, has to listen again.
    let path = pod.volume.join("net1.sock");
    let early = UnixListener::bind(&path).unwrap();
    early.set_nonblocking(true).unwrap();
    node.add(&pod, "net1").result();
    assert!(!path.exists(), "the socket of before ADD is still there");
    let socket = UnixListener::bind(&path).unwrap();
    socket.set_nonblocking(true).unwrap();
    // DPDK tries once a second.
    await_that("the engine connects", Duration::from_secs(30), || socket.accept().is_ok());
    assert!(early.accept().is_err(), "the engine connected to the socket of before ADD");
}

/// Open vSwitch connects as soon as it has the port, also to a program of before ADD.
#[test]
fn the_socket_of_an_earlier_program_is_gone_before_the_switch_has_the_port() {
    on_a_node(|node| {
        let pod = node.pod("p");
        let path = pod.volume.join("net1.sock");
        let _early = UnixListener::bind(&path).unwrap();
        let [before @ .., Step::Directory, _, _] = Step::DIRECTORY_AFTER_PORT.as_slice() else { panic!("other steps") };
        assert_eq!(before.last(), Some(&Step::Port));
        node.run_add_steps(&pod, "net1", &configuration(NETWORK), before);
        assert!(!path.exists() && node.mounts().is_empty());
        node.del(&pod, "net1").assert_done();
    });
}

fn addresses_are_assigned_and_released_by_ipam(node: &mut TestNode) {
    let Some(configuration) = with_addresses(node) else { return };
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(result["ips"], json!([{"address": "10.56.0.2/24", "gateway": "10.56.0.1", "interface": 0}]));
    assert_eq!(result["routes"], json!([{"dst": "10.0.0.0/8"}]));
    let described = pod.description("net1");
    assert_eq!(described["ips"], json!([{"address": "10.56.0.2/24", "gateway": "10.56.0.1"}]));
    assert_eq!(described["routes"], result["routes"]);
    assert_eq!(reserved_ips("green"), ["10.56.0.2"]);
    // The configuration has another name, and the network is gone: the record has the IPAM
    // configuration.
    fs::remove_file(node.paths.networks().join("green.json")).unwrap();
    let other = json!({"cniVersion": "1.1.0", "name": "other", "type": "userspace", "network": "green"});
    node.call("DEL", &pod, "net1", &other).assert_done();
    assert_eq!(reserved_ips("green"), [""; 0]);
    assert_eq!(node.ports("green"), [""; 0]);
    node.assert_clean();
}

fn configurations_of_any_name_share_the_networks_addresses(node: &mut TestNode) {
    let Some(green) = with_addresses(node) else { return };
    let mut named = green.clone();
    named["name"] = json!("my-own-name");
    let one = node.call("ADD", &node.pod("one"), "net1", &green).result();
    let other = node.call("ADD", &node.pod("other"), "net1", &named).result();
    assert_ne!(one["ips"][0]["address"], other["ips"][0]["address"]);
}

fn ipam_of_the_configuration_is_used_on_a_network_without_ipam(node: &mut TestNode) {
    let Some(ipam) = host_local_with(&json!([[{"subnet": "10.57.0.0/24"}]])) else { return };
    let mut own = configuration(NETWORK);
    own["ipam"] = ipam;
    node.allow_ipam(&["host-local"], &["dataDir"]);
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &own).result();
    assert_eq!(result["ips"][0]["address"], "10.57.0.2/24");
    // The address is neither in the pool of the network nor in that of a network with the name of
    // the configuration.
    assert_eq!((reserved_ips(NETWORK).len(), reserved_ips("blue.blue").len()), (0, 1));
    node.call("DEL", &pod, "net1", &own).assert_done();
    assert_eq!(reserved_ips("blue.blue"), [""; 0]);
}

fn a_failing_ipam_plugin_leaves_nothing_and_its_error_is_passed_on(node: &mut TestNode) {
    let range = json!([[{"subnet": "10.58.0.0/29", "rangeStart": "10.58.0.2", "rangeEnd": "10.58.0.2"}]]);
    let Some(ipam) = host_local_with(&range) else { return };
    node.program_network("tiny", Some(ipam));
    let (one, other) = (node.pod("one"), node.pod("other"));
    node.call("ADD", &one, "net1", &configuration("tiny")).result();
    let message = node.call("ADD", &other, "net1", &configuration("tiny")).message(108);
    assert!(message.starts_with("usnet[108 AddressesExhausted]: IPAM plugin host-local: "), "{message}");
    assert_eq!(node.ports("tiny").len(), 1);
    node.call("DEL", &one, "net1", &configuration("tiny")).assert_done();
    assert_eq!(reserved_ips("tiny"), [""; 0]);
    node.assert_clean();
}

fn two_interfaces_of_a_pod_share_its_directory(node: &mut TestNode) {
    let pod = node.pod("p");
    let one = node.add(&pod, "net1").result();
    let other = node.add(&pod, "net2").result();
    assert_ne!(one["interfaces"][0]["mac"], other["interfaces"][0]["mac"]);
    assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (2, 1));
    node.del(&pod, "net1").assert_done();
    assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (1, 1));
    assert_eq!(pod.description("net2")["interface"], "net2");
    assert!(!pod.volume.join("net1.json").exists());
    node.del(&pod, "net2").assert_done();
    node.assert_clean();
}

fn the_result_is_in_the_configurations_version(node: &mut TestNode) {
    let pod = node.pod("p");
    for version in ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let mut configuration = configuration(NETWORK);
        configuration["cniVersion"] = json!(version);
        let result = node.call("ADD", &pod, "net1", &configuration).result();
        assert_eq!(result["cniVersion"], version);
        assert_eq!(result.get("interfaces").is_some(), version >= "0.3", "{version}");
        assert_eq!(result["interfaces"][0].get("socketPath").is_some(), version == "1.1.0", "{version}");
        node.call("DEL", &pod, "net1", &configuration).assert_done();
    }
}

fn in_a_chain_the_earlier_result_is_passed_on(node: &mut TestNode) {
    let mut configuration = configuration(NETWORK);
    let earlier = json!({"name": "eth0", "mac": "02:00:00:00:00:09", "sandbox": "/run/netns/p"});
    configuration["prevResult"] = json!({
        "cniVersion": "1.1.0", "interfaces": [earlier], "ips": [{"address": "10.9.0.2/24", "interface": 0}]
    });
    let pod = node.pod("p");
    let result = node.call("ADD", &pod, "net1", &configuration).result();
    assert_eq!(result["interfaces"][0], earlier);
    assert_eq!(result["interfaces"][1]["name"], "net1");
    assert_eq!(result["ips"], configuration["prevResult"]["ips"]);
    node.call("DEL", &pod, "net1", &configuration).assert_done();

    // The author of the NetworkAttachmentDefinition does not know the sandbox.
    configuration["prevResult"]["interfaces"][0]["sandbox"] = json!("/run/netns/forged");
    let message = node.call("ADD", &pod, "net1", &configuration).message(7);
    assert!(message.contains("prevResult") && message.contains("/run/netns/p"), "{message}");
    node.assert_clean();
}

fn a_mac_address_requested_by_multus_is_used(node: &mut TestNode) {
    let mut pod = node.pod("p");
    let plain = node.add(&pod, "net1").result()["interfaces"][0]["mac"].clone();
    assert!(plain.as_str().unwrap().starts_with("02:"), "{plain}");
    node.del(&pod, "net1").assert_done();
    // Multus appends the request after the last key.
    pod.uid.push_str(";MAC=02:23:45:67:89:01");
    let mac = node.add(&pod, "net1").result()["interfaces"][0]["mac"].clone();
    assert_eq!(mac, "02:23:45:67:89:01");
    assert_eq!(pod.description("net1")["mac"], mac);
}

fn a_repeated_add_returns_the_same_result(node: &mut TestNode) {
    let Some(mut configuration) = with_addresses(node) else { return };
    let pod = node.pod("p");
    for default_route in [None, Some("10.56.0.9")] {
        configuration["args"]["cni"]["default-route"] = default_route.into_iter().collect();
        let first = node.call("ADD", &pod, "net1", &configuration).result();
        assert_eq!(first["routes"].as_array().unwrap().len(), 1 + usize::from(default_route.is_some()), "{first}");
        let description = pod.description("net1");
        for _ in 0..2 {
            assert_eq!(node.call("ADD", &pod, "net1", &configuration).result(), first);
        }
        assert_eq!((node.ports("green").len(), reserved_ips("green").len()), (1, 1));
        assert_eq!(pod.description("net1"), description);
        node.call("DEL", &pod, "net1", &configuration).assert_done();
        node.assert_clean();
        assert_eq!(reserved_ips("green"), [""; 0]);
    }
}

fn add_of_an_attached_interface_with_other_parameters_is_rejected(node: &mut TestNode) {
    let pod = node.pod("p");
    let first = node.add(&pod, "net1").result();
    node.program_network("green", None);
    let with_mac = {
        let mut configuration = configuration(NETWORK);
        configuration["args"]["cni"]["mac"] = "02:00:00:00:00:77".into();
        configuration
    };
    for (other, differs) in [(configuration("green"), "network"), (with_mac, "MAC address")] {
        let message = node.call("ADD", &pod, "net1", &other).message(103);
        let words = ["net1", differs, "DEL"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    assert_eq!((node.ports(NETWORK).len(), node.ports("green").len()), (1, 0));
    assert_eq!(node.add(&pod, "net1").result(), first);
}

fn a_repeated_add_reports_what_is_missing(node: &mut TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    fs::remove_file(pod.volume.join("net1.json")).unwrap();
    let message = node.add(&pod, "net1").message(106);
    assert!(message.contains("net1.json is missing"), "{message}");
    node.del(&pod, "net1").assert_done();
    node.add(&pod, "net1").result();
}

fn add_of_a_new_sandbox_detaches_the_previous_one(node: &mut TestNode) {
    let Some(configuration) = with_addresses(node) else { return };
    let old = node.pod("p");
    node.call("ADD", &old, "net1", &configuration).result();
    let ports = node.ports("green");
    let new = old.restarted();
    let result = node.call("ADD", &new, "net1", &configuration).result();
    assert_eq!(node.ports("green").len(), 1);
    assert_ne!(node.ports("green"), ports);
    assert_eq!(reserved_ips("green").len(), 1);
    // The late DEL of the previous sandbox must not affect the new one.
    node.call("DEL", &old, "net1", &configuration).assert_done();
    assert_eq!((node.ports("green").len(), node.mounts().len(), reserved_ips("green").len()), (1, 1, 1));
    assert_eq!(new.description("net1")["mac"], result["interfaces"][0]["mac"]);
    node.call("DEL", &new, "net1", &configuration).assert_done();
    node.assert_clean();
    assert_eq!(reserved_ips("green"), [""; 0]);
}

/// Multus calls DEL to roll back its own ADD, which failed because the name was taken.
fn an_interface_of_an_object_ends_with_the_object_alone(node: &mut TestNode) {
    let (pod, mut of_object) = (node.pod("p"), configuration(NETWORK));
    of_object["name"] = json!(Record::configuration_of_object("0-1"));
    node.call("ADD", &pod, "net7", &of_object).result();
    assert!(node.add(&pod, "net7").error()["msg"].as_str().unwrap().contains("already attached"));
    let left = node.del(&pod, "net7");
    left.assert_done();
    assert!(left.stderr().contains("net7 was attached for a UserspaceAttachment: it stays attached"), "{left:?}");
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.call("DEL", &pod, "net7", &of_object).assert_done();
    node.assert_clean();
}
