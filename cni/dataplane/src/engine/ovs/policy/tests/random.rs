//! Random policies and frames, of few addresses and ports, so that they often meet.

use super::frame::{BROADCAST, Content, Frame, ICMP, ICMPV6, TCP, Tuple, UDP};
use crate::engine::ovs::policy::{PolicyPort, PolicyPortState};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{PodAddresses, PodClass, SelectorId};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_openflow::PortNumber;
use usnet_test_fuzz::Random;

/// Pods of the namespaces `a` and `b`, one that is closed, one of a namespace without policies, and
/// what is outside.
pub(super) const NAMESPACES: [&str; 6] = ["a", "a", "b", "b", "", "c"];
const OUTSIDE: u16 = 9;
/// The MAC address of an isolated port and of no other, besides its own.
pub(super) const VIRTUAL: [u8; 6] = [0, 0, 0x5e, 0, 1, 5];
pub(super) const UNKNOWN: [u8; 6] = [2, 0, 0, 0, 0, 0x77];

pub(super) fn number(port: u16) -> PortNumber {
    PortNumber::new(port).unwrap()
}

pub(super) fn mac(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 0, port.to_be_bytes()[1]]
}

fn address(of: u16, is_ipv4: bool) -> IpAddr {
    if is_ipv4 {
        Ipv4Addr::new(10, 0, 0, of.to_be_bytes()[1]).into()
    } else {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, of).into()
    }
}

/// The ids of selectors.
const SELECTORS: u128 = 5;

fn selectors(random: &mut Random) -> BTreeSet<SelectorId> {
    (0..SELECTORS).filter(|_| random.below(3) == 0).map(SelectorId::new).collect()
}

fn class(random: &mut Random, namespace: &str) -> PodClass {
    let selected_by = selectors(random);
    let not_selected_by = (0..SELECTORS).map(SelectorId::new).filter(|id| !selected_by.contains(id)).collect();
    PodClass { namespace: namespace.parse().unwrap(), selected_by, not_selected_by }
}

/// The addresses of the pods of ports, and of pods outside. Some are not known.
pub(super) fn peers(random: &mut Random, ports: &BTreeMap<PortNumber, PolicyPort>) -> PodAddresses {
    let mut all = BTreeMap::new();
    for of in 1..16 {
        let known = match ports.get(&number(of)).map(|port| &port.state) {
            Some(PolicyPortState::OfClass(class)) => Some(class.clone()),
            Some(PolicyPortState::Closed) => None,
            None => Some(Arc::new(class(random, "other"))),
        };
        for is_ipv4 in [true, false] {
            let known = known.clone().filter(|_| random.below(4) > 0);
            all.extend(known.map(|class| (address(of, is_ipv4), class)));
        }
    }
    PodAddresses(all)
}

/// The ports of pods, from 1.
pub(super) fn ports(random: &mut Random) -> BTreeMap<PortNumber, PolicyPort> {
    let port = |(place, namespace): (u16, &&str)| {
        let state = match *namespace {
            "" => PolicyPortState::Closed,
            namespace => PolicyPortState::OfClass(Arc::new(class(random, namespace))),
        };
        let virtual_macs = if place == 1 { [mac_address(VIRTUAL)].into() } else { BTreeSet::new() };
        (number(place), PolicyPort { mac: mac_address(mac(place)), virtual_macs, state })
    };
    (1..).zip(NAMESPACES.iter()).map(port).collect()
}

pub(super) fn mac_address(octets: [u8; 6]) -> usnet_crds::MacAddress {
    octets.map(|octet| format!("{octet:02x}")).join(":").parse().unwrap()
}

pub(super) fn all_ports() -> BTreeSet<PortNumber> {
    let pods = (1..).zip(NAMESPACES).map(|(place, _)| number(place));
    pods.chain([number(OUTSIDE)]).collect()
}

pub(super) fn policies(random: &mut Random) -> Vec<Policy> {
    (0..random.below(5)).map(|place| policy(random, place)).collect()
}

fn policy(random: &mut Random, place: usize) -> Policy {
    let rules =
        |random: &mut Random| (random.below(3) > 0).then(|| (0..random.below(3)).map(|_| rule(random)).collect());
    Policy {
        namespace: random.pick(&["a", "b"]).parse().unwrap(),
        name: format!("p{place}"),
        pods: (random.below(2) == 0).then(|| SelectorId::new(random.below(5) as u128)),
        ingress: rules(random),
        egress: rules(random),
    }
}

fn rule(random: &mut Random) -> PolicyRule {
    let peers = match random.below(4) {
        0 => PeerAddresses::Any,
        _ => PeerAddresses::Within((0..random.below(4)).map(|_| prefix(random).parse().unwrap()).collect()),
    };
    let ports = match random.below(3) {
        0 => DestinationPorts::Any,
        _ => DestinationPorts::Within((0..random.below(4)).map(|_| range(random)).collect()),
    };
    let peer_pods = match &peers {
        PeerAddresses::Within(_) if random.below(2) == 0 => selectors(random),
        _ => BTreeSet::new(),
    };
    PolicyRule { peers, peer_pods, ports }
}

fn prefix(random: &mut Random) -> String {
    let is_ipv4 = random.below(2) == 0;
    let free = u16::try_from(random.below(5)).unwrap();
    if random.below(8) == 0 {
        return if is_ipv4 { "0.0.0.0/0" } else { "::/0" }.to_owned();
    }
    // The host bits of a prefix are not set.
    let first = u16::try_from(random.below(16)).unwrap() >> free << free;
    format!("{}/{}", address(first, is_ipv4), if is_ipv4 { 32 } else { 128 } - free)
}

fn range(random: &mut Random) -> PortRange {
    let protocol = *random.pick(&[TransportProtocol::Tcp, TransportProtocol::Udp]);
    let (first, length) = (random.below(8), random.below(6));
    let number = |number: usize| u16::try_from(number).unwrap();
    let (first, last) = if random.below(8) == 0 { (0, u16::MAX) } else { (number(first), number(first + length)) };
    PortRange { protocol, first, last }
}

/// A packet between two ends, one of which may be outside. Addresses are those of the ends, as
/// guards have it.
pub(super) fn tuple(random: &mut Random, from: u16, to: u16) -> Tuple {
    let is_ipv4 = random.below(2) == 0;
    let mut of = |end| address(if end == OUTSIDE { 8 + u16::try_from(random.below(4)).unwrap() } else { end }, is_ipv4);
    let (src, dst) = (of(from), of(to));
    let icmp = if is_ipv4 { ICMP } else { ICMPV6 };
    let protocol = *random.pick(&[TCP, TCP, UDP, UDP, icmp]);
    let [src_port, dst_port] =
        if protocol == icmp { [0, 0] } else { [1000 + from, u16::try_from(random.below(14)).unwrap()] };
    Tuple { src, dst, protocol, src_port, dst_port }
}

/// One of the ports, and another one.
pub(super) fn ends(random: &mut Random) -> (u16, u16) {
    let all: Vec<u16> = all_ports().into_iter().map(PortNumber::number).collect();
    let from = *random.pick(&all);
    let others: Vec<u16> = all.into_iter().filter(|port| *port != from).collect();
    (from, *random.pick(&others))
}

pub(super) fn frame(random: &mut Random) -> (Frame, u16) {
    let (from, to) = ends(random);
    let group = [1, 0, 0x5e, 0, 0, 1];
    let dst_mac = *random.pick(&[mac(to), mac(to), mac(to), BROADCAST, group, UNKNOWN, VIRTUAL]);
    let tuple = tuple(random, from, to);
    let content = match random.below(12) {
        0 => Content::Arp,
        1 => Content::Neighbor,
        2 => Content::Other(0x88b5),
        3 | 4 => Content::Fragment(tuple),
        5 => Content::Malformed(tuple),
        _ => Content::Packet(tuple),
    };
    (Frame { in_port: number(from), dst_mac, content }, to)
}
