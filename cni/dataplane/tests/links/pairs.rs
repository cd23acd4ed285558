//! The pairs by which engines have VXLAN devices.

use super::{ENGINE, Node, device, ip, output_of};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use usnet_dataplane::links::{LentDevices, joinable};
use usnet_dataplane::port::DeviceName;

/// The end at the VXLAN device, and the one that the engine has.
fn ends() -> [String; 2] {
    let network = "blue".parse().unwrap();
    [DeviceName::of_vxlan_end(&network), DeviceName::of_network(&network)].map(|name| name.to_string())
}

fn index(name: &str) -> u32 {
    let text = output_of(&format!("ip -o link show {name}"));
    text.split(':').next().and_then(|index| index.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
}

fn joined(node: &mut Node) -> Option<u32> {
    let observed = node.observe();
    joinable(ENGINE, &node.desired, &observed).into_values().next()
}

#[test]
fn the_engine_gets_an_end_of_a_pair_whose_other_end_takes_merged_packets_apart() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let [inner, engine] = ends();
    assert_eq!(joined(&mut node), Some(index(&engine)));
    for (name, alias) in [(&inner, "usnet OVS blue vxlan-end"), (&engine, "usnet OVS blue engine-end")] {
        let details = output_of(&format!("ip -d link show {name}"));
        for part in ["mtu 1400", "LOWER_UP", "veth", alias] {
            assert!(details.contains(part), "{part}: {details}");
        }
        assert_eq!(output_of(&format!("ip -6 addr show dev {name}")), "", "the node has no address there");
    }
    let features = output_of(&format!("ethtool -k {inner}"));
    for feature in ["tx-checksumming", "tx-tcp-segmentation", "tx-udp-segmentation", "tx-gso-list"] {
        assert!(features.contains(&format!("{feature}: off")), "{feature}: {features}");
    }
}

#[test]
fn a_pair_is_mended_in_place_as_far_as_it_can_be() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let [inner, engine] = ends();
    let before = joined(&mut node);
    for change in [
        format!("ip link set {inner} down"),
        format!("ip link set {engine} mtu 1300"),
        format!("ethtool -K {inner} tx on"),
    ] {
        let mut words = change.split(' ');
        assert!(Command::new(words.next().unwrap()).args(words).status().unwrap().success(), "{change}");
        assert_eq!(node.converge().len(), 1, "{change}");
        assert_eq!(joined(&mut node), before, "{change}");
    }
    for change in [
        format!("link del {inner}"),
        format!("link set {engine} down name other"),
        format!("link set {inner} down name other"),
    ] {
        ip(&change);
        node.converge();
        assert_eq!(joined(&mut node), Some(index(&engine)), "{change}");
        assert!(output_of("ip -o link").lines().filter(|line| line.contains("usnet OVS blue")).count() == 3);
    }
}

#[test]
fn a_device_that_an_earlier_version_left_gets_a_pair_and_stays() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let (before, [inner, _]) = (node.device("blue"), ends());
    ip(&format!("link del {inner}"));
    assert_eq!(joined(&mut node), None);
    let operations = node.converge();
    let name = device("blue");
    assert_eq!(operations, [format!("connect VXLAN device {name} of network blue by a pair with MTU 1400")]);
    assert_eq!(node.device("blue"), before);
}

#[test]
fn a_device_of_others_with_the_name_of_an_end_is_left() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    let [_, engine] = ends();
    ip(&format!("link add {engine} type veth peer name others"));
    ip(&format!("link set {engine} alias others"));
    assert!(node.apply().is_err());
    assert_eq!(joined(&mut node), None);
    assert!(output_of(&format!("ip link show {engine}")).contains("@others"));
    ip(&format!("link del {engine}"));
    node.converge();
    assert_eq!(joined(&mut node), Some(index(&engine)));
}

#[test]
fn pair_and_device_go_together() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    node.desired.clear();
    assert_eq!(node.converge().len(), 2);
    assert!(!output_of("ip -o link").contains("usnet OVS blue"));
}

#[test]
fn the_chains_of_a_pair_are_kept_and_follow_a_device_that_is_recreated() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let kept = |node: &mut Node| {
        let kept = node.links.keep_isolated(&LentDevices::default()).expect("the devices").expect("the right");
        assert!(kept.failures.is_empty(), "{:?}", kept.failures);
        kept.changes
    };
    assert_eq!(kept(&mut node), Vec::<String>::new(), "what was made is what is wanted");
    ip(&format!("link del {}", device("blue")));
    node.converge();
    assert_eq!(kept(&mut node), Vec::<String>::new(), "frames go to the new device");
    assert!(Command::new("nft").args(["delete", "table", "netdev", "usnet"]).status().unwrap().success());
    assert_eq!(kept(&mut node).len(), 3);
    assert_eq!(kept(&mut node), Vec::<String>::new());
}

const BYTES: usize = 4 << 20;

/// A host outside with a VXLAN device of the kernel, in a network namespace of its own. Its packets
/// arrive merged, because a veth pair takes none apart.
fn host(node_mac: &str) -> thread::JoinHandle<()> {
    let (ready, is_ready) = channel();
    let (go, may_go) = channel::<()>();
    let node_mac = node_mac.to_owned();
    let run = move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("a network namespace");
        ready.send(nix::unistd::gettid()).unwrap();
        may_go.recv().unwrap();
        ip("addr add 10.0.0.2/24 dev wire");
        ip("link set wire up");
        ip("link add vx mtu 1400 type vxlan id 7001 dstport 4789 local 10.0.0.2 remote 10.0.0.1 noudpcsum dev wire");
        ip("addr add 192.168.7.2/24 dev vx");
        ip("link set vx up");
        ip(&format!("neigh add 192.168.7.1 lladdr {node_mac} dev vx"));
        for _ in 0..2 {
            let mut stream = TcpStream::connect("192.168.7.1:7000").expect("a connection");
            stream.write_all(&vec![7; BYTES]).expect("to be received");
        }
    };
    let host = thread::spawn(run);
    let thread = is_ready.recv().unwrap();
    ip(&format!("link set wire netns /proc/{}/task/{thread}/ns/net", std::process::id()));
    go.send(()).unwrap();
    host
}

/// Bytes in a frame on average while all that was sent is received.
fn bytes_in_a_frame(listener: &TcpListener, device: &str) -> u64 {
    let counters = || {
        let text = output_of(&format!("ip -s link show dev {device}"));
        let received = text.lines().skip_while(|line| !line.contains("RX:")).nth(1).unwrap();
        let mut numbers = received.split_whitespace().map(|number| number.parse::<u64>().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    };
    let (mut stream, _) = listener.accept().expect("a connection");
    let (bytes, frames) = counters();
    let mut content = Vec::new();
    stream.read_to_end(&mut content).expect("all of it");
    assert_eq!(content.len(), BYTES);
    let (bytes_after, frames_after) = counters();
    (bytes_after - bytes) / (frames_after - frames)
}

#[test]
fn merged_packets_reach_the_engine_as_frames_of_at_most_the_mtu() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    let [inner, engine] = ends();
    // The end of the engine becomes an interface of this node, so that the kernel's TCP is at it.
    assert!(Command::new("nft").args(["delete", "chain", "netdev", "usnet", &engine]).status().unwrap().success());
    ip(&format!("addr add 192.168.7.1/24 dev {engine}"));
    let listener = TcpListener::bind("192.168.7.1:7000").expect("an address");
    let details = output_of(&format!("ip -o link show {engine}"));
    let mac = details.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a MAC address");
    let host = host(mac);
    let split = bytes_in_a_frame(&listener, &engine);
    let on = ["-K", &inner, "tx", "on"];
    assert!(Command::new("ethtool").args(on).status().unwrap().success());
    let merged = bytes_in_a_frame(&listener, &engine);
    host.join().unwrap();
    assert!(split <= 1414 && merged > 1414, "{split} bytes in a frame, and {merged} where the pair does not split");
}
