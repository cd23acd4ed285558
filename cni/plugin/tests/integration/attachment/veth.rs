//! Veth ports, on real engines and in real network namespaces.

use crate::multi_network::create_eth0;
use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::tools::tool;
use crate::support::wait::await_that;
use crate::support::{
    NETWORK, TestNode, configuration, create_network_namespace, ip, on_a_node, on_a_vpp_node, port_types,
};
use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use usnet_crds::{EngineKind, Mtu, NodeNetwork, Vlan};
use usnet_test_abuse::{PORT, Target, frames, send};
use usnet_test_vpp::Kind;

pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The network namespaces of two pods, and their names for `ip`.
pub(super) const PODS: [(&str, &str); 2] = [("/run/netns/p", "p"), ("/run/netns/q", "q")];

/// Programs the network with veth ports and static addresses by the pods' names.
pub(super) fn program(node: &TestNode, change: impl FnOnce(&mut NodeNetwork)) {
    let mut network = node.program_network_with(NETWORK, &port_types::veth(), None);
    let static_attachment = |pod: &str, last: u8| json!({"namespace": "db", "pod": pod, "ips": [format!("10.56.0.{last}/24"), format!("fd00:1::{last}/64")]});
    network.attachments =
        [static_attachment("p", 1), static_attachment("q", 2)].map(|one| serde_json::from_value(one).unwrap()).to_vec();
    change(&mut network);
    node.publish(network);
}

pub(super) fn add(node: &TestNode, pod: &Pod, namespace: &str) -> Value {
    node.call_with("ADD", pod, "net1", &[("CNI_NETNS", namespace)]).result()
}

/// The pod's interface as listed by `ip`.
fn observed(namespace: &str) -> Value {
    let all: Value = serde_json::from_str(&ip(&["-n", namespace, "-j", "addr", "show", "dev", "net1"])).unwrap();
    all[0].clone()
}

/// Runs something in a pod's network namespace.
pub(super) fn within<T: Send + 'static>(
    namespace: &str,
    act: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let namespace = File::open(namespace).unwrap();
    thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        act()
    })
}

on_each_engine! {
    add_configures_the_interface_as_assigned_and_del_removes_it,
    check_accepts_what_a_later_plugin_of_the_list_has_set,
    check_names_how_the_interface_differs,
    existing_devices_of_the_same_name_are_kept_and_add_is_rolled_back,
    nothing_that_a_pod_sends_reaches_its_node,
}

fn add_configures_the_interface_as_assigned_and_del_removes_it(node: &mut TestNode) {
    program(node, |network| network.bridge.mtu = Mtu::try_from(1400).unwrap());
    let pod = node.pod("p");
    let mut with_routes = configuration(NETWORK);
    with_routes["cniVersion"] = json!("1.1.0");
    let result = node.call("ADD", &pod, "net1", &with_routes).result();
    let interface = &result["interfaces"][0];
    let expected = json!({"name": "net1", "mac": interface["mac"], "mtu": 1400, "sandbox": "/run/netns/p"});
    assert_eq!(*interface, expected, "no socket");

    // Plugins later in a list find the node's end by this entry.
    let on_node = &result["interfaces"][1];
    assert_eq!(*on_node, json!({"name": node.devices()[0], "mac": on_node["mac"], "mtu": 1400}));

    let observed = observed("p");
    assert_eq!((&observed["address"], &observed["mtu"]), (&interface["mac"], &json!(1400)));
    assert!(observed["flags"].as_array().unwrap().contains(&json!("UP")), "{observed}");
    let addresses: Vec<String> = observed["addr_info"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            assert!(one["tentative"].is_null() || one["scope"] == "link", "{observed}");
            format!("{}/{}", one["local"].as_str().unwrap(), one["prefixlen"])
        })
        .collect();
    assert!(addresses.contains(&"10.56.0.1/24".to_owned()) && addresses.contains(&"fd00:1::1/64".to_owned()));

    let [device] = node.devices().try_into().unwrap();
    assert_eq!(node.ports(NETWORK).len(), 1);
    if node.engine.kind() == EngineKind::OpenVswitch {
        assert_eq!(node.ports(NETWORK), [device.as_str()]);
    }
    let on_node = ip(&["link", "show", "dev", &device]);
    assert!(
        on_node.contains(&format!("alias usnet:{}.net1", pod.container)) && on_node.contains("mtu 1400"),
        "{on_node}"
    );
    assert_eq!(node.mounts(), [], "it needs no volume");

    node.check(&pod, "net1", &result).assert_done();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
    node.del(&pod, "net1").assert_done();
}

#[test]
fn routes_of_the_ipam_plugin_are_in_the_pod() {
    on_a_node(|node| {
        if tool("static").is_none() {
            return;
        }
        let ipam = json!({"type": "static", "addresses": [{"address": "10.56.0.9/24", "gateway": "10.56.0.254"}],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.99.0.0/16", "gw": "10.56.0.253"}]});
        node.program_network_with(NETWORK, &port_types::veth(), Some(ipam));
        let pod = node.pod("p");
        create_eth0();
        node.add(&pod, "net1").result();
        let routes = ip(&["-n", "p", "route"]);
        assert!(routes.starts_with("default via 10.56.0.254"), "before that of eth0: {routes}");
        assert!(routes.contains("default via 10.56.0.254 dev net1"), "{routes}");
        assert!(routes.contains("10.99.0.0/16 via 10.56.0.253 dev net1"), "{routes}");
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    });
}

/// By default the kernel leaves checksums to the device. For ICMP a wrong checksum does not matter.
#[test]
fn two_pods_of_a_vlan_talk_over_udp_and_tcp() {
    on_a_node(exchange_packets);
    on_a_vpp_node(Kind::Real, exchange_packets);
}

fn exchange_packets(node: &mut TestNode) {
    program(node, |network| network.port.vlan = Some(Vlan::Access { tag: 7.try_into().unwrap() }));
    create_network_namespace(PODS[1].0);
    let pods = ["p", "q"].map(|name| node.pod(name));
    for (pod, (namespace, _)) in pods.iter().zip(PODS) {
        add(node, pod, namespace);
    }
    assert_they_talk();
    pods.iter().for_each(|pod| node.del(pod, "net1").assert_done());
    node.assert_clean();
}

/// DEL returns before ovs-vswitchd has read the change. If ovs-vswitchd reads the change of the
/// next ADD together with it, it takes the port for the former one.
#[test]
fn an_interface_that_is_deleted_and_added_while_the_switch_is_busy_works() {
    on_a_node(|node| {
        program(node, |_| {});
        create_network_namespace(PODS[1].0);
        let pods = ["p", "q"].map(|name| node.pod(name));
        for (pod, (namespace, _)) in pods.iter().zip(PODS) {
            add(node, pod, namespace);
        }
        node.open_vswitch().pause_vswitchd().unwrap();
        node.del(&pods[0], "net1").assert_done();
        let mut again = node.spawn("ADD", &pods[0], "net1", &[]);
        await_that("the port is requested", PATIENCE, || node.ports(NETWORK).len() == 2);
        node.open_vswitch().resume_vswitchd().unwrap();
        assert!(again.wait().unwrap().success());
        assert_they_talk();
        pods.iter().for_each(|pod| node.del(pod, "net1").assert_done());
        node.assert_clean();
    });
}

/// Asserts that the two pods reach each other by UDP and TCP.
pub(super) fn assert_they_talk() {
    let server = within(PODS[1].0, || {
        let udp = UdpSocket::bind("10.56.0.2:0").unwrap();
        let tcp = TcpListener::bind("[fd00:1::2]:0").unwrap();
        let addresses = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        thread::spawn(move || {
            let mut datagram = [0; 2000];
            while let Ok((length, from)) = udp.recv_from(&mut datagram) {
                udp.send_to(&datagram[..length], from).unwrap();
            }
        });
        let received = thread::spawn(move || {
            let (mut stream, _) = tcp.accept().unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all.len()
        });
        (addresses, received)
    });
    let (addresses, received) = server.join().unwrap();
    let client = within(PODS[0].0, move || {
        let udp = UdpSocket::bind("10.56.0.1:0").unwrap();
        udp.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        udp.connect(addresses.0).unwrap();
        let echoed = (0..20).any(|_| {
            udp.send(&[1; 1000]).unwrap();
            udp.recv(&mut [0; 2000]).is_ok_and(|length| length == 1000)
        });
        let mut tcp = TcpStream::connect_timeout(&addresses.1, PATIENCE).unwrap();
        tcp.write_all(&vec![2; 1_000_000]).unwrap();
        echoed
    });
    assert!(client.join().unwrap(), "no datagram came back");
    assert_eq!(received.join().unwrap(), 1_000_000);
}

fn existing_devices_of_the_same_name_are_kept_and_add_is_rolled_back(node: &mut TestNode) {
    program(node, |_| {});
    let pod = node.pod("p");
    ip(&["-n", "p", "link", "add", "net1", "type", "veth", "peer", "name", "theirs"]);
    let message = node.add(&pod, "net1").message(107);
    assert!(message.contains("net1"), "{message}");
    node.assert_clean();
    assert!(ip(&["-n", "p", "link", "show", "dev", "net1"]).contains("net1@theirs"));
    ip(&["-n", "p", "link", "del", "net1"]);

    let message = node.call_with("ADD", &pod, "net1", &[("CNI_NETNS", "/proc/self/ns/net")]).message(4);
    assert!(message.contains("hostNetwork"), "{message}");
    node.call_with("ADD", &pod, "net1", &[("CNI_NETNS", "/proc/self/ns/uts")]).message(4);
    node.assert_clean();

    // A foreign device on the node with the same name and type.
    node.add(&pod, "net1").result();
    let [device] = node.devices().try_into().unwrap();
    node.del(&pod, "net1").assert_done();
    ip(&["link", "add", &device, "type", "veth", "peer", "name", "theirs"]);
    let message = node.add(&pod, "net1").message(104);
    assert!(message.contains(&device), "{message}");
    node.del(&pod, "net1").assert_done();
    assert_eq!(node.devices().len(), 2, "theirs is left alone");
    ip(&["link", "del", &device]);
    node.assert_clean();
}

fn check_names_how_the_interface_differs(node: &mut TestNode) {
    program(node, |_| {});
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let found = || node.check(&pod, "net1", &result).message(106);
    let [device] = node.devices().try_into().unwrap();
    ip(&["link", "set", &device, "down"]);
    assert!(found().contains(&format!("device {device} is down")), "{}", found());
    ip(&["link", "set", &device, "up"]);
    let changes: [(&[&str], &str); 4] = [
        (&["addr", "del", "10.56.0.1/24", "dev", "net1"], "does not have its address 10.56.0.1"),
        (&["link", "set", "net1", "mtu", "1600"], "is 1600 and should be 1500"),
        (&["link", "set", "net1", "address", "02:00:00:00:00:01"], "does not have MAC address"),
        (&["link", "set", "net1", "down"], "net1 of the pod is down"),
    ];
    for (change, reported) in changes {
        ip(&[&["-n", "p"], change].concat());
        assert!(found().contains(reported), "{}", found());
    }
    ip(&["-n", "p", "link", "set", "net1", "name", "other0"]);
    assert!(found().contains("the pod has no interface net1"), "{}", found());
    ip(&["-n", "p", "link", "add", "net1", "type", "veth", "peer", "name", "theirs"]);
    assert!(found().contains("is not the device that ADD created"), "{}", found());
    ip(&["link", "del", &device]);
    assert!(found().contains(&format!("the node has no device {device}")), "{}", found());
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn nothing_that_a_pod_sends_reaches_its_node(node: &mut TestNode) {
    program(node, |_| {});
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let mac = result["interfaces"][1]["mac"].as_str().unwrap().split(':');
    let mac: Vec<u8> = mac.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    // The node has these addresses on any device.
    ip(&["addr", "add", "10.77.0.1/32", "dev", "lo"]);
    ip(&["addr", "add", "fd77::1/128", "dev", "lo"]);
    let target = Target {
        mac: mac.try_into().unwrap(),
        ipv4: "10.77.0.1".parse().unwrap(),
        ipv6: "fd77::1".parse().unwrap(),
        beyond_ipv4: "10.77.0.2".parse().unwrap(),
        beyond_ipv6: "fd77::2".parse().unwrap(),
    };
    let socket = UdpSocket::bind(("::", PORT)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let tables = || [&["addr"][..], &["route"], &["-6", "route"], &["neigh"]].map(ip).concat();
    within(PODS[0].0, move || send(None, "net1", &frames(&target))).join().unwrap().unwrap();
    assert!(socket.recv(&mut [0; 2000]).is_err(), "a program of the node received a datagram");
    for trace in ["2001:db8:bad", "2001:db8:beef", "02:00:00:00:ab:05"] {
        assert!(!tables().contains(trace), "{}", tables());
    }
    ip(&["addr", "del", "10.77.0.1/32", "dev", "lo"]);
    ip(&["addr", "del", "fd77::1/128", "dev", "lo"]);
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

/// The plugin `tuning` writes the MAC address into the result, but not the MTU.
fn check_accepts_what_a_later_plugin_of_the_list_has_set(node: &mut TestNode) {
    program(node, |_| {});
    let pod = node.pod("p");
    let mut result = node.add(&pod, "net1").result();
    ip(&["-n", "p", "link", "set", "net1", "mtu", "1300"]);
    ip(&["-n", "p", "link", "set", "net1", "address", "02:00:00:00:00:01"]);
    let message = node.check(&pod, "net1", &result).message(106);
    assert!(message.contains("does not have MAC address") && !message.contains("MTU"), "{message}");
    result["interfaces"][0]["mac"] = json!("02:00:00:00:00:01");
    node.check(&pod, "net1", &result).assert_done();
    // The previous version wrote results without the end on the node.
    result["interfaces"].as_array_mut().unwrap().truncate(1);
    node.check(&pod, "net1", &result).assert_done();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

/// The plugin needs the end on the node in the result. Whether the kernel has the schedulers that
/// the plugin uses is not tested.
#[test]
fn the_reference_plugin_for_bandwidth_finds_the_device_of_the_node() {
    on_a_node(|node| {
        let Some(plugin) = tool("bandwidth") else { return };
        program(node, |_| {});
        let pod = node.pod("p");
        let previous = node.add(&pod, "net1").result();
        let mut limits = json!({"cniVersion": "1.0.0", "name": NETWORK, "type": "bandwidth", "prevResult": previous});
        limits["prevResult"]["cniVersion"] = json!("1.0.0");
        limits["ingressRate"] = json!(1_000_000);
        limits["ingressBurst"] = json!(100_000);
        let mut child = Command::new(plugin)
            .envs([("CNI_COMMAND", "ADD"), ("CNI_CONTAINERID", "c"), ("CNI_IFNAME", "net1")])
            .envs([("CNI_NETNS", PODS[0].0), ("CNI_PATH", "/nonexistent")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(limits.to_string().as_bytes()).unwrap();
        let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(!printed.contains("no veth peer"), "{printed}");
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    });
}

#[test]
fn del_without_the_pods_namespace_or_the_engine_leaves_no_device() {
    on_a_node(|node| {
        program(node, |_| {});
        create_network_namespace(PODS[1].0);
        let (gone, cut_off) = (node.pod("q"), node.pod("p"));
        add(node, &gone, PODS[1].0);
        ip(&["netns", "del", "q"]);
        node.call_with("DEL", &gone, "net1", &[("CNI_NETNS", "")]).assert_done();
        node.assert_clean();
        add(node, &cut_off, PODS[0].0);
        node.engine.kill();
        node.del(&cut_off, "net1");
        assert_eq!((node.devices().len(), node.records().len()), (0, 1), "the agent takes the port away");
    });
}
