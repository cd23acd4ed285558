//! Connections that outlive policies, answers, and closed ports.

use super::packets::{BROADCAST, TCP, UDP};
use super::scene::{Scene, ends, run, run_by};
use crate::open_vswitch::packet_threads::FramesBy;
use std::collections::BTreeSet;
use usnet_crds::policy::Policy;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};

/// Pods of the namespace `b` may be reached at these ports of TCP and UDP, and may begin nothing.
pub(super) fn server(first: u16, last: u16) -> Vec<Policy> {
    let range = |protocol| PortRange { protocol, first, last };
    let ports = DestinationPorts::Within([TransportProtocol::Tcp, TransportProtocol::Udp].map(range).into());
    let rule = PolicyRule { peers: PeerAddresses::Any, peer_pods: BTreeSet::new(), ports };
    let namespace = "b".parse().expect("a namespace");
    vec![Policy { namespace, name: "p".to_owned(), pods: None, ingress: Some(vec![rule]), egress: Some(Vec::new()) }]
}

/// Whether an answer of b arrives, and whether a further packet to it does.
fn passes(scene: &mut Scene, from: &'static str, protocol: u8, ports: [u16; 2], is_ipv4: bool) -> [bool; 2] {
    let ends = ends(from, "b", is_ipv4);
    let answered = scene.reaches("b", from, ends.answer(protocol, ports));
    [answered, scene.reaches(from, "b", ends.first(protocol, ports))]
}

#[test]
fn an_answer_passes_while_its_connection_is_allowed_and_a_revoked_one_stops_in_both_directions() {
    run(connections_are_revoked);
}

#[test]
fn an_answer_passes_while_its_connection_is_allowed_with_several_packet_threads() {
    run_by(FramesBy::TwoThreads, connections_are_revoked);
}

#[test]
fn an_answer_passes_while_its_connection_is_allowed_by_af_xdp() {
    run_by(FramesBy::AfXdp, connections_are_revoked);
}

fn connections_are_revoked(scene: &mut Scene) {
    for (number, (from, protocol, is_ipv4)) in
        (100..).zip([("u", TCP, true), ("u", UDP, false), ("a", TCP, false), ("a", UDP, true)])
    {
        scene.enforce(&server(80, 81), &[]);
        let ports = [number, 81];
        let ends = ends(from, "b", is_ipv4);
        assert!(!scene.reaches("b", from, ends.answer(protocol, ports)), "nothing was asked");
        assert!(scene.reaches(from, "b", ends.first(protocol, ports)), "{number}");
        assert_eq!(passes(scene, from, protocol, ports, is_ipv4), [true, true], "{number}");
        assert!(!scene.reaches(from, "b", ends.first(protocol, [number, 82])), "another port");
        let answer = ends.answer(protocol, ports);
        let to_all = [&BROADCAST[..], &answer[6..]].concat();
        assert!(scene.arrived("b", &[to_all])["u"].is_empty(), "an answer has one receiver");

        scene.enforce(&server(80, 80), &[]);
        assert_eq!(passes(scene, from, protocol, ports, is_ipv4), [false, false], "revoked: {number}");
        scene.enforce(&[], &[]);
        assert_eq!(passes(scene, from, protocol, ports, is_ipv4), [true, true], "no policy: {number}");
    }
}

#[test]
fn echo_requests_need_a_rule_without_ports() {
    run(|scene| {
        for is_ipv4 in [true, false] {
            let ends = ends("u", "b", is_ipv4);
            scene.enforce(&server(0, u16::MAX), &[]);
            assert!(!scene.reaches("u", "b", ends.echo(1, false)));
            let mut all = server(80, 80);
            all.iter_mut().flat_map(|policy| policy.ingress.iter_mut().flatten()).for_each(|rule| {
                rule.ports = DestinationPorts::Any;
            });
            scene.enforce(&all, &[]);
            assert!(scene.reaches("u", "b", ends.echo(2, false)));
            assert!(scene.reaches("b", "u", ends.reversed().echo(2, true)));
            assert!(!scene.reaches("b", "u", ends.reversed().echo(3, false)));
        }
    });
}

#[test]
fn a_port_that_never_sent_gets_its_frames_and_others_do_not() {
    run(|scene| {
        scene.enforce(&server(80, 80), &[]);
        let ends = ends("u", "b", true);
        assert!(scene.reaches("u", "b", ends.first(UDP, [7, 80])));
        assert!(scene.reaches("u", "b", ends.arp(7)), "a request of ARP to it alone");
        assert!(!scene.reaches("u", "b", ends.frame([0x88, 0xb5], b"other")));
    });
}

#[test]
fn a_closed_port_gets_and_sends_nothing() {
    run(|scene| {
        scene.enforce(&[], &["c"]);
        let of_c = ends("c", "u", true);
        let sent = [of_c.first(UDP, [1, 2]), of_c.to_mac(BROADCAST).first(UDP, [1, 3]), of_c.to_mac(BROADCAST).arp(9)];
        sent.iter().for_each(|frame| scene.send("c", frame));
        let to_c = ends("u", "c", true);
        let frames = [to_c.first(UDP, [1, 2]), to_c.to_mac(BROADCAST).first(UDP, [1, 3]), to_c.arp(8)];
        frames.iter().for_each(|frame| scene.send("u", frame));
        let all = scene.settle("u");
        assert!(all["c"].is_empty(), "{all:?}");
        assert!(all.values().flatten().all(|frame| !sent.contains(frame)), "{all:?}");
        assert!(all["a"].contains(&frames[1]), "others get what is for all");
    });
}
