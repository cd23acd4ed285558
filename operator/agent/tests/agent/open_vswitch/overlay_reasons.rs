//! Obstacles for an overlay: the report of the node names them and says what to do, objects of
//! other owners stay unchanged, and the overlay works as soon as the obstacle is gone.

use super::overlays::{ip, overlay, start, wait_until_programmed};
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use nix::sched::{CloneFlags, setns};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::fs::File;
use std::net::UdpSocket;
use std::sync::Arc;
use usnet_crds::{Mtu, NodeNetwork};

/// An obstacle.
struct Case {
    change: &'static str,
    restore: &'static str,
    network: fn() -> NodeNetwork,
    reason: &'static str,
    /// What the message contains.
    parts: &'static [&'static str],
}

fn blue() -> NodeNetwork {
    overlay("blue", 7001, &["10.0.0.2"])
}

fn blue_over_ipv6() -> NodeNetwork {
    let mut network = blue();
    network.bridge.mtu = Mtu::try_from(1430).unwrap();
    let overlay = network.overlay.as_mut().unwrap();
    (overlay.local, overlay.peers) = ("fd00::1".parse().unwrap(), Arc::new(["fd00::2".parse().unwrap()].into()));
    network
}

const CASES: [Case; 7] = [
    Case {
        change: "link add vxlan0 type vxlan id 7001 dstport 4789 local 10.0.0.1 dev eth0",
        restore: "link del vxlan0",
        network: blue,
        reason: "VniTaken",
        parts: &["vxlan0 of this node", "7001", "4789", "it is not changed: remove it, or set another vni or port"],
    },
    Case {
        change: "link add vxlan0 up type vxlan external dstport 4789",
        restore: "link del vxlan0",
        network: blue,
        reason: "PortTaken",
        parts: &["vxlan0 of this node", "4789", "it is not changed: remove it, or set another port"],
    },
    Case {
        change: "link add vxlan0 up type vxlan id 9 local fd00::1 dev eth0 dstport 4789 udp6zerocsumtx noudp6zerocsumrx",
        restore: "link del vxlan0",
        network: blue_over_ipv6,
        reason: "PortTaken",
        parts: &["vxlan0 of this node", "4789", "set another port"],
    },
    Case {
        change: "link set eth0 mtu 1499",
        restore: "link set eth0 mtu 1500",
        network: blue,
        reason: "MtuTooLarge",
        parts: &["the 50 bytes of VXLAN", "eth0 of this node", "1499", "bridge.mtu to 1449"],
    },
    Case {
        change: "link set eth0 mtu 1499",
        restore: "link set eth0 mtu 1500",
        network: blue_over_ipv6,
        reason: "MtuTooLarge",
        parts: &["the 70 bytes of VXLAN", "eth0 of this node", "1499", "bridge.mtu to 1429", "MTU of eth0 to 1500"],
    },
    Case {
        change: "addr del 10.0.0.1/24 dev eth0",
        restore: "addr add 10.0.0.1/24 dev eth0",
        network: blue,
        reason: "PeersUnknown",
        parts: &["no device of this node has 10.0.0.1", "--node-ip"],
    },
    Case {
        change: "addr del fd00::1/64 dev eth0",
        restore: "addr add fd00::1/64 dev eth0 nodad",
        network: blue_over_ipv6,
        reason: "PeersUnknown",
        parts: &["no device of this node has fd00::1", "--node-ip"],
    },
];

fn wait_for(agent: &RunningAgent, reason: &str) -> String {
    agent.wait_for_network("blue", reason, |entry| entry.reason == reason).message
}

/// All devices with their settings, without counters and the number of each.
fn details(testbed: &OvsTestbed) -> String {
    ip(testbed, "-d link show type vxlan")
}

fn start_with_green() -> (OvsTestbed, RunningAgent) {
    let (testbed, paths) = start();
    ip(&testbed, "addr add fd00::1/64 dev eth0 nodad");
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[network("green")]);
    wait_until_programmed(&agent, "green");
    (testbed, agent)
}

#[test]
fn each_reason_names_what_is_in_the_way_changes_nothing_of_it_and_passes() {
    let (testbed, agent) = start_with_green();
    for (revision, Case { change, restore, network: blue, reason, parts }) in (2..).step_by(2).zip(CASES) {
        ip(&testbed, change);
        let before = details(&testbed);
        agent.set_spec(revision, &[blue(), network("green")]);
        let message = wait_for(&agent, reason);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(testbed.wait_until_unavailable("blue"), reason);
        assert!(testbed.is_programmed("green"), "no other network is affected");
        assert_eq!(details(&testbed), before, "{change}");
        ip(&testbed, restore);
        wait_until_programmed(&agent, "blue");
        agent.set_spec(revision + 1, &[network("green")]);
        until("no device", || testbed.devices().is_empty().then_some(()));
    }
}

/// A socket has the UDP port, and not a device.
#[test]
fn a_program_that_has_the_port_is_named_by_how_to_find_it() {
    let (testbed, agent) = start_with_green();
    let program = listen(&testbed);
    agent.set_spec(2, &[blue(), network("green")]);
    let message = wait_for(&agent, "PortTaken");
    let parts = ["a program or device of this node (see ss -lunp)", "4789", "set another port"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    drop(program);
    wait_until_programmed(&agent, "blue");
}

/// Takes the port of VXLAN in the network namespace of the node: a socket stays where it was
/// opened.
fn listen(testbed: &OvsTestbed) -> UdpSocket {
    let namespace = File::open(testbed.ovs.network_namespace()).unwrap();
    let open = || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        UdpSocket::bind("0.0.0.0:4789").unwrap()
    };
    std::thread::scope(|scope| scope.spawn(open).join()).unwrap()
}

/// A node can have only one device of a segment.
#[test]
fn the_network_of_the_other_engine_with_the_same_vni_is_named() {
    let (testbed, agent) = start_with_green();
    ip(&testbed, "link add usv-0000000001 type vxlan id 7001 dstport 4789 local 10.0.0.1 dev eth0 noudpcsum");
    let alias = ["link", "set", "usv-0000000001", "alias", "usnet VPP red"];
    assert!(testbed.ovs.command("ip").args(alias).status().unwrap().success());
    // The device is as the agent that created it left it.
    ip(&testbed, "link set usv-0000000001 addrgenmode none");
    let before = details(&testbed);
    agent.set_spec(2, &[blue(), network("green")]);
    let message = wait_for(&agent, "VniTaken");
    let parts = ["network red of VPP", "VNI 7001", "on this node", "exclude the node with nodeSelector"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    assert_eq!(details(&testbed), before);
    ip(&testbed, "link del usv-0000000001");
    wait_until_programmed(&agent, "blue");
}

/// Removes capabilities as `config/overlays/node-local` does. Capabilities belong to a thread, and
/// its children have no more.
#[test]
fn without_the_privilege_the_report_names_what_grants_it_and_other_networks_work() {
    let (testbed, paths) = start();
    let mut fewer = capabilities(None).unwrap();
    fewer.effective.remove(CapabilitySet::NET_ADMIN);
    set_capabilities(None, fewer).unwrap();
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[blue(), network("green")]);
    let message = wait_for(&agent, "MissingPrivilege");
    let parts = ["on this node", "CAP_NET_ADMIN", "config/overlays/node-local", "install config/default", "NodeLocal"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    assert_eq!(testbed.wait_until_unavailable("blue"), "MissingPrivilege");
    wait_until_programmed(&agent, "green");
    assert!(testbed.devices().is_empty());
}
