//! Ports of guarded bridges, without an agent: what ADD has done suffices.

use crate::support::engine::on_each_vpp;
use crate::support::vpp::{set_no_filter, tables};
use crate::support::{NETWORK, TestNode, configuration, create_network_namespace, ip, on_a_node, port_types};
use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use usnet_crds::{AntiSpoofing, NodeNetwork, Port};
use usnet_dataplane::ovs::POLICY_ZONE_KEY;
use usnet_test_abuse::{Frame, send};

on_each_vpp! {
    add_of_each_port_type_guards_the_port_and_del_leaves_no_table,
    check_says_that_another_client_removed_a_guard,
    a_pod_of_vpp_without_an_address_is_refused_and_leaves_nothing,
}

const PORT: u16 = 7000;
/// Of so many system calls the short form takes one. It has no divisor in common with how often
/// steps repeat.
const STRIDE: usize = 19;
const PATIENCE: Duration = Duration::from_secs(20);

/// The network with these ports, of which three pods have fixed addresses.
fn guarded(node: &TestNode, port: &Port, anti_spoofing: AntiSpoofing) -> NodeNetwork {
    let mut network = node.program_network_with(NETWORK, port, None);
    (network.bridge.is_guarded, network.port.anti_spoofing) = (true, anti_spoofing);
    let of_pod = |pod: &str, last: u8| json!({"namespace": "db", "pod": pod, "ips": [format!("10.56.0.{last}/24")]});
    let attachments = [of_pod("p", 1), of_pod("q", 2), of_pod("r", 3)].map(|one| serde_json::from_value(one).unwrap());
    network.attachments = attachments.to_vec();
    network
}

fn program(node: &mut TestNode, anti_spoofing: AntiSpoofing) {
    let network = guarded(node, &port_types::veth(), anti_spoofing);
    node.open_vswitch().vsctl(&["set", "Bridge", network.bridge.name.as_str(), "fail_mode=secure"]).unwrap();
    node.publish(network);
}

/// A socket of a pod.
fn socket(pod: &str, address: Ipv4Addr) -> UdpSocket {
    let namespace = File::open(format!("/run/netns/{pod}")).unwrap();
    let bind = move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        UdpSocket::bind((address, PORT)).unwrap()
    };
    thread::spawn(bind).join().unwrap()
}

#[test]
fn a_pod_reaches_others_when_add_answers_and_from_no_address_of_others() {
    on_a_node(|node| {
        program(node, AntiSpoofing::Address);
        create_network_namespace("/run/netns/q");
        for pod in ["p", "q"] {
            let namespace = format!("/run/netns/{pod}");
            node.call_with("ADD", &node.pod(pod), "net1", &[("CNI_NETNS", &namespace)]).result();
        }
        let (own, forged, other) = ([10, 56, 0, 1].into(), [10, 56, 0, 77].into(), Ipv4Addr::new(10, 56, 0, 2));
        ip(&["-n", "p", "addr", "add", &format!("{forged}/24"), "dev", "net1", "nodad"]);
        let receiver = socket("q", other);
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        let [from_own, from_forged] = [own, forged].map(|address| socket("p", address));
        let to = SocketAddr::from((other, PORT));
        let mut received = [0; 16];
        // The first one is after the neighbour was found, which the forged one could not ask for.
        for text in ["first", "second"] {
            from_own.send_to(text.as_bytes(), to).unwrap();
            let (length, from) = receiver.recv_from(&mut received).expect("a datagram of pod p");
            assert_eq!((from.ip(), &received[..length]), (IpAddr::V4(own), text.as_bytes()));
            from_forged.send_to(b"forged", to).unwrap();
        }
        for pod in ["p", "q"] {
            node.del(&node.pod(pod), "net1").assert_done();
        }
    });
}

/// A pod that sends broadcasts as fast as it can.
struct Flood {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Flood {
    fn start(pod: &str, address: Ipv4Addr) -> Self {
        let socket = socket(pod, address);
        socket.set_broadcast(true).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut sent = 0;
            while !has_ended.load(Ordering::Relaxed) {
                // A queue that is full refuses.
                sent += usize::from(socket.send_to(b"flood", (Ipv4Addr::new(10, 56, 0, 255), PORT + 1)).is_ok());
            }
            sent
        });
        Self { is_over, thread }
    }

    /// Returns the number of packets.
    fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// How many frames the device of a pod has received.
fn received(pod: &str) -> u64 {
    let statistics: Value = serde_json::from_str(&ip(&["-n", pod, "-j", "-s", "link", "show", "net1"])).unwrap();
    statistics.pointer("/0/stats64/rx/packets").and_then(Value::as_u64).expect("a counter")
}

#[test]
fn a_new_port_of_a_network_with_policies_is_closed_until_the_agent_opens_it() {
    on_a_node(|node| {
        program(node, AntiSpoofing::Address);
        for pod in ["q", "r"] {
            let namespace = format!("/run/netns/{pod}");
            create_network_namespace(&namespace);
            node.call_with("ADD", &node.pod(pod), "net1", &[("CNI_NETNS", &namespace)]).result();
        }
        let bridge = node.bridge();
        let tag = format!("external_ids:{POLICY_ZONE_KEY}=65000");
        node.open_vswitch().vsctl(&["set", "Bridge", &bridge, &tag]).unwrap();
        let pod = node.pod("p");
        for round in 0..2 {
            let flood = Flood::start("r", Ipv4Addr::new(10, 56, 0, 3));
            let result = node.add(&pod, "net1").result();
            assert!(flood.end() > 0);
            assert_eq!(received("p"), 0, "what is flooded in the moment in which the port is new: round {round}");
            node.check(&pod, "net1", &result).assert_done();
            assert_eq!(node.add(&pod, "net1").result(), result, "an ADD that is repeated");
            let before = received("p");
            let mac = ip(&["-n", "q", "-j", "link", "show", "net1"]);
            let mac: Value = serde_json::from_str(&mac).unwrap();
            let mac = mac[0]["address"].as_str().unwrap();
            ip(&["-n", "p", "neigh", "replace", "10.56.0.2", "lladdr", mac, "dev", "net1"]);
            let receiver = socket("q", Ipv4Addr::new(10, 56, 0, 2));
            receiver.set_read_timeout(Some(PATIENCE)).unwrap();
            let closed = socket("p", Ipv4Addr::new(10, 56, 0, 1));
            let open = socket("r", Ipv4Addr::new(10, 56, 0, 3));
            open.set_broadcast(true).unwrap();
            let to = SocketAddr::from((Ipv4Addr::new(10, 56, 0, 2), PORT));
            let mut text = [0; 16];
            for _ in 0..3 {
                closed.send_to(b"closed", to).unwrap();
                open.send_to(b"to all", (Ipv4Addr::new(10, 56, 0, 255), PORT)).unwrap();
                open.send_to(b"open", to).unwrap();
                loop {
                    let (length, from) = receiver.recv_from(&mut text).expect("a datagram of pod r");
                    assert_eq!(from.ip(), IpAddr::V4([10, 56, 0, 3].into()), "{round}");
                    if &text[..length] == b"open" {
                        break;
                    }
                }
            }
            assert_eq!(received("p"), before, "{round}");
            node.del(&pod, "net1").assert_done();
        }
    });
}

/// A datagram to all with the source address of another pod, as a frame of the device `net1`.
fn forged() -> Frame {
    let mut ip = [&[0x45, 0, 0, 34, 0, 0, 0, 0, 64, 17, 0, 0][..], &[10, 56, 0, 77], &[10, 56, 0, 255]].concat();
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!u16::try_from(folded).unwrap()).to_be_bytes());
    let udp = [&PORT.to_be_bytes()[..], &PORT.to_be_bytes(), &[0, 14, 0, 0], b"forged"].concat();
    let bytes = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 0x77], &[8, 0], &ip, &udp].concat();
    Frame { name: "a datagram of another pod".to_owned(), bytes }
}

/// A pod that sends forged frames by its new interface from the moment in which that exists.
struct Attacker {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Attacker {
    fn start(pod: &str) -> Self {
        let namespace = File::open(format!("/run/netns/{pod}")).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            let (frames, mut sent) = ([forged()], 0);
            while !has_ended.load(Ordering::Relaxed) {
                // There is no interface, or it is down.
                sent += usize::from(send(None, "net1", &frames).is_ok());
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        Self { is_over, thread }
    }

    fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Kills ADD and DEL of a guarded port before one of `stride` system calls each, while the pod
/// sends forged frames: none of them arrives at another one.
fn kill_guarded_calls(stride: usize) {
    on_a_node(move |node| {
        program(node, AntiSpoofing::Address);
        let namespace = "/run/netns/q";
        create_network_namespace(namespace);
        node.call_with("ADD", &node.pod("q"), "net1", &[("CNI_NETNS", namespace)]).result();
        let pod = node.pod("p");
        let tag = format!("external_ids:{POLICY_ZONE_KEY}=65000");
        let (bridge, mut kills, mut sent) = (node.bridge(), 0, 0);
        let receiver = socket("q", Ipv4Addr::UNSPECIFIED);
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        node.add(&pod, "net1").result();
        let own = socket("p", Ipv4Addr::new(10, 56, 0, 1));
        own.set_broadcast(true).unwrap();
        own.send_to(b"own", (Ipv4Addr::new(10, 56, 0, 255), PORT)).unwrap();
        let (_, from) = receiver.recv_from(&mut [0; 16]).expect("what the pod may send to all");
        assert_eq!(from.ip(), IpAddr::V4([10, 56, 0, 1].into()));
        drop(own);
        node.del(&pod, "net1").assert_done();
        receiver.set_nonblocking(true).unwrap();
        for has_policies in [false, true] {
            if has_policies {
                node.open_vswitch().vsctl(&["set", "Bridge", &bridge, &tag]).unwrap();
            }
            for verb in ["ADD", "DEL"] {
                for number in (0..).step_by(stride) {
                    let attacker = Attacker::start("p");
                    if verb == "DEL" {
                        node.add(&pod, "net1").result();
                    }
                    let is_killed = node.kill_before(verb, &pod, "net1", number);
                    // The attacker has time to find the port open.
                    thread::sleep(Duration::from_millis(20));
                    node.del(&pod, "net1").assert_done();
                    sent += attacker.end();
                    let arrived = receiver.recv_from(&mut [0; 16]).ok();
                    assert_eq!(arrived, None, "{verb} before call {number}, policies: {has_policies}");
                    if !is_killed {
                        break;
                    }
                    kills += 1;
                }
            }
        }
        println!("{kills} kills while {sent} forged frames were sent, and none arrived");
        assert!(kills >= 20 && sent >= 5, "{kills} {sent}");
        node.del(&node.pod("q"), "net1").assert_done();
        node.assert_clean();
    });
}

#[test]
fn a_call_that_is_killed_lets_no_forged_frame_pass() {
    kill_guarded_calls(STRIDE);
}

#[test]
#[ignore = "long: some minutes; `make nightly` runs it"]
fn a_call_that_is_killed_before_each_system_call_lets_no_forged_frame_pass() {
    kill_guarded_calls(1);
}

#[test]
fn a_pod_without_an_address_is_refused_and_leaves_nothing() {
    on_a_node(|node| {
        program(node, AntiSpoofing::Address);
        let error = node.call("ADD", &node.pod("other"), "net1", &configuration(NETWORK)).error();
        assert!(error["msg"].as_str().unwrap().contains("antiSpoofing"), "{error}");
        assert_eq!(node.ports(NETWORK), Vec::<String>::new());
    });
}

/// What the only port may claim to be, and whether it is up.
fn guard(node: &TestNode) -> (Option<String>, bool) {
    let ports = node.engine.observe().bridges.remove(&node.bridge()).expect("the bridge").ports;
    let [settings] = ports.into_values().map(|port| port.settings).collect::<Vec<_>>().try_into().expect("one port");
    (settings.guard.map(|guard| guard.to_string()), settings.is_enabled)
}

fn add_of_each_port_type_guards_the_port_and_del_leaves_no_table(node: &mut TestNode) {
    for port in port_types::all().into_iter().chain([port_types::veth()]) {
        for (anti_spoofing, addresses) in [(AntiSpoofing::Address, "10.56.0.1"), (AntiSpoofing::Mac, "any")] {
            node.publish(guarded(node, &port, anti_spoofing));
            let pod = node.pod("p");
            let result = node.add(&pod, "net1").result();
            let mac = result["interfaces"][0]["mac"].as_str().expect("a MAC address");
            let expected = (Some(format!("{mac} {addresses}")), true);
            assert_eq!(guard(node), expected, "{port:?}");
            node.check(&pod, "net1", &result).assert_done();
            assert_eq!(node.add(&pod, "net1").result(), result);
            assert_eq!(guard(node), expected, "{port:?}");
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
            assert_eq!(tables(node.vpp()), Vec::<u32>::new(), "{port:?}");
        }
    }
    let Some(simulator) = node.vpp().simulator() else { return };
    let (filter, flags) = ("input_acl_set_interface", "sw_interface_set_flags");
    let log = simulator.log().into_iter().map(|entry| entry.message);
    let log: Vec<&str> = log.filter(|message| [filter, flags].contains(message)).collect();
    // ADD filters before it sets a port up, and DEL sets it down before it filters no longer.
    assert!(log.chunks(4).all(|one| one == [filter, flags, flags, filter]), "{log:?}");
}

fn check_says_that_another_client_removed_a_guard(node: &mut TestNode) {
    node.publish(guarded(node, &port_types::memif_in_volume(), AntiSpoofing::Mac));
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    set_no_filter(node.vpp(), &node.ports(NETWORK)[0]);
    let wrong = node.check(&pod, "net1", &result).message(106);
    assert!(wrong.contains("the source of its frames") && wrong.contains("is anybody"), "{wrong}");
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn a_pod_of_vpp_without_an_address_is_refused_and_leaves_nothing(node: &mut TestNode) {
    node.publish(guarded(node, &port_types::memif_in_volume(), AntiSpoofing::Address));
    let error = node.add(&node.pod("other"), "net1").error();
    assert!(error["msg"].as_str().unwrap().contains("antiSpoofing"), "{error}");
    node.assert_clean();
    assert_eq!(tables(node.vpp()), Vec::<u32>::new());
}
