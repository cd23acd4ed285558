//! What the kernel refuses.

use super::{ENGINE, Node, device, ip, output_of};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use usnet_dataplane::links::{LinkBlocker, LinkError, blockers, diff};
use usnet_dataplane::links::{LinkOp, Links};

fn blocker(node: &mut Node) -> LinkBlocker {
    let observed = node.observe();
    assert!(diff(ENGINE, &node.desired, &observed).is_empty());
    blockers(ENGINE, &node.desired, &observed).into_values().next().expect("a blocker")
}

/// Capabilities are those of a thread.
#[test]
fn without_the_capability_nothing_is_tried_and_the_kernel_would_refuse_it() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    let observed = node.observe();
    let operations = diff(ENGINE, &node.desired, &observed);
    let mut capabilities = capabilities(None).expect("the capabilities of the test");
    capabilities.effective.remove(CapabilitySet::NET_ADMIN);
    set_capabilities(None, capabilities).expect("fewer capabilities");
    assert_eq!(blocker(&mut node), LinkBlocker::MissingPrivilege);
    assert!(matches!(node.links.apply(&operations[0]), Err(LinkError::NotPermitted)));
}

#[test]
fn a_vni_of_others_is_seen_before_and_refused_by_the_kernel() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    let observed = node.observe();
    let operations = diff(ENGINE, &node.desired, &observed);
    ip("link add vxlan0 type vxlan id 7001 dstport 4789 local 10.0.0.1 dev eth0");
    assert!(matches!(blocker(&mut node), LinkBlocker::VniTaken { vni: 7001, port: 4789, .. }));
    let before = output_of("ip -d link show vxlan0");
    assert!(matches!(node.links.apply(&operations[0]), Err(LinkError::Exists)));
    assert_eq!(output_of("ip -d link show vxlan0"), before);
}

#[test]
fn a_port_that_another_kind_of_device_or_a_program_has_is_an_error() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    ip("link add vxlan0 up type vxlan external dstport 4789");
    assert!(matches!(blocker(&mut node), LinkBlocker::PortTaken { device: Some(_), port: 4789 }));
    ip("link del vxlan0");

    let program = UdpSocket::bind("0.0.0.0:4789").expect("the port");
    assert!(matches!(node.apply(), Err(LinkError::PortInUse)));
    // The device stays, and is set up as soon as the port is free.
    assert!(matches!(node.apply(), Err(LinkError::PortInUse)));
    drop(program);
    // A test beside this one may have forked, and holds the socket until it has executed a program.
    let deadline = Instant::now() + Duration::from_secs(5);
    while matches!(node.apply(), Err(LinkError::PortInUse)) && Instant::now() < deadline {}
    assert_eq!(node.converge(), Vec::<String>::new());
    assert!(output_of(&format!("ip link show {}", device("blue"))).contains(",UP"));
}

#[test]
fn an_underlay_that_is_too_small_or_missing_blocks() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    ip("link set eth0 mtu 1449");
    assert!(matches!(blocker(&mut node), LinkBlocker::MtuTooLarge { underlay_mtu: 1449, overhead: 50, .. }));
    ip("link set eth0 mtu 1450");
    assert_eq!(node.converge().len(), 1);
    ip("link set eth0 mtu 1449");
    assert!(matches!(blocker(&mut node), LinkBlocker::MtuTooLarge { .. }), "the device stays as it is");
    ip("link set eth0 mtu 1500");
    node.desired.clear();
    node.converge();
    let mut node = node.with("blue", 7001, "10.0.0.7");
    assert!(matches!(blocker(&mut node), LinkBlocker::AddressMissing { .. }));
}

#[test]
fn a_device_goes_with_its_underlay_and_comes_back_with_it() {
    let mut node = Node::new().with("blue", 7001, "10.0.0.1");
    node.converge();
    ip("link del eth0");
    assert!(node.observe().vxlans.is_empty());
    assert!(matches!(blocker(&mut node), LinkBlocker::AddressMissing { .. }));
    ip("link add eth0 up type veth peer name wire");
    ip("addr add 10.0.0.1/24 dev eth0");
    let observed = node.observe();
    let created = diff(ENGINE, &node.desired, &observed);
    assert!(matches!(created.as_slice(), [LinkOp::Create { .. }]), "{created:?}");
    node.converge();
}
