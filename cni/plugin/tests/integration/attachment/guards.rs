//! Ports of guarded bridges, without an agent: what ADD has done suffices.

use crate::support::{NETWORK, TestNode, configuration, create_network_namespace, ip, on_a_node, port_types};
use nix::sched::{CloneFlags, setns};
use serde_json::json;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;
use usnet_crds::AntiSpoofing;

const PORT: u16 = 7000;
const PATIENCE: Duration = Duration::from_secs(20);

fn program(node: &mut TestNode, anti_spoofing: AntiSpoofing) {
    let mut network = node.program_network_with(NETWORK, &port_types::veth(), None);
    (network.bridge.is_guarded, network.port.anti_spoofing) = (true, anti_spoofing);
    let of_pod = |pod: &str, last: u8| json!({"namespace": "db", "pod": pod, "ips": [format!("10.56.0.{last}/24")]});
    let attachments = [of_pod("p", 1), of_pod("q", 2)].map(|one| serde_json::from_value(one).unwrap());
    network.attachments = attachments.to_vec();
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

#[test]
fn a_pod_without_an_address_is_refused_and_leaves_nothing() {
    on_a_node(|node| {
        program(node, AntiSpoofing::Address);
        let error = node.call("ADD", &node.pod("other"), "net1", &configuration(NETWORK)).error();
        assert!(error["msg"].as_str().unwrap().contains("antiSpoofing"), "{error}");
        assert_eq!(node.ports(NETWORK), Vec::<String>::new());
    });
}
