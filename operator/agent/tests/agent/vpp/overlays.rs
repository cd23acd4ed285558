//! Networks that connect nodes: VXLAN devices in the network namespace of VPP.

use super::testbed::{VppTestbed, domain_id, network};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeSet;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{Encapsulation, Mtu, NodeNetwork, NodeOverlay, UdpPort, Vni};
use usnet_dataplane::port::DeviceName;
use usnet_test_vpp::Kind;
use usnet_vpp::messages::{IfStatusFlags, SwInterfaceDetails, SwInterfaceSetFlags};

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn overlay(name: &str, peers: &[&str]) -> NodeNetwork {
    let peers: BTreeSet<IpAddr> = peers.iter().map(|peer| peer.parse().unwrap()).collect();
    let mut network = network(name);
    network.bridge.mtu = Mtu::try_from(1450).unwrap();
    network.overlay = Some(NodeOverlay {
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        vni: Vni::try_from(7001).unwrap(),
        port: UdpPort::default(),
        local: "10.0.0.1".parse().unwrap(),
        multicast_group: None,
        peers: Arc::new(peers),
    });
    network
}

impl VppTestbed {
    /// The interface on the network's device, if it is up and in the bridge domain.
    fn joined(&self, network: &NodeNetwork) -> Option<SwInterfaceDetails> {
        let name = format!("host-{}", DeviceName::of_network(&network.name));
        let members = self.domains().remove(&domain_id(network))?.sw_if_details;
        let mut interfaces = self.interfaces().into_iter();
        let found = interfaces.find(|interface| interface.interface_name.as_str() == name)?;
        let is_member = members.iter().any(|member| member.sw_if_index == found.sw_if_index && member.shg == 0);
        (is_member && found.flags.contains(IfStatusFlags::ADMIN_UP)).then_some(found)
    }
}

fn devices() -> usize {
    ip("-o link show type vxlan").lines().count()
}

fn index(device: &str) -> u32 {
    ip(&format!("-o link show dev {device}")).split(':').next().unwrap().parse().unwrap()
}

/// Runs in a network namespace of the test, which VPP and the agent share.
fn a_network_is_joined_repaired_and_left(kind: Kind) {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    ip("link add eth0 up type veth peer name wire");
    ip("link set wire up");
    ip("addr add 10.0.0.1/24 dev eth0");
    let Some(testbed) = VppTestbed::start(kind, &[]) else { return };
    let namespace = File::open("/proc/thread-self/ns/net").unwrap();
    let paths = testbed.paths.clone().with_network_namespace(format!("/proc/self/fd/{}", namespace.as_raw_fd()));
    let agent = RunningAgent::start(&paths);
    let blue = overlay("blue", &["10.0.0.2"]);
    let name = DeviceName::of_network(&blue.name).to_string();
    let programmed = || {
        agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    };
    agent.set_spec(1, std::slice::from_ref(&blue));
    programmed();
    let first = testbed.joined(&blue).expect("it is joined");
    assert_eq!(first.tag.as_str(), "usnet:blue");
    assert_eq!(first.l2_address[2..], index(&name).to_be_bytes());

    // VPP, another client and the administrator of the node can all change the device.
    let (sw_if_index, flags) = (first.sw_if_index, IfStatusFlags::default());
    testbed.request(SwInterfaceSetFlags { sw_if_index, flags });
    let is_up = || ip(&format!("link show dev {name}")).contains(",UP");
    until("it is up again", || (testbed.joined(&blue).is_some() && is_up()).then_some(()));
    ip(&format!("link del {name}"));
    until("the new device is joined", || {
        let output = Command::new("ip").args(["-o", "link", "show", "dev", &name]).output().unwrap();
        let observed = String::from_utf8_lossy(&output.stdout).into_owned();
        let index: u32 = observed.split(':').next()?.parse().ok()?;
        (testbed.joined(&blue)?.l2_address[2..] == index.to_be_bytes()).then_some(())
    });
    programmed();
    assert!(is_up());

    agent.set_spec(2, &[]);
    until("no device", || (devices() == 0).then_some(()));
    assert!(testbed.domains().is_empty());
}

#[test]
fn a_network_is_joined_repaired_and_left_by_the_simulator() {
    a_network_is_joined_repaired_and_left(Kind::Simulator);
}

#[test]
fn a_network_is_joined_repaired_and_left_by_vpp() {
    a_network_is_joined_repaired_and_left(Kind::Real);
}
