//! Random policies of few addresses and ports, so that they often meet.

use super::model::{Packet, TCP, UDP};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{PodAddresses, PodClass, SelectorId};
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};
use usnet_crds::policy::verdict::Connection;
use usnet_test_fuzz::Random;

pub(super) const POD: [&str; 2] = ["10.0.0.9", "fd00::9"];
const PEERS: [&str; 6] = ["10.0.0.1", "10.0.0.2", "10.7.0.3", "fd00::1", "fd00::2", "fd07::3"];
const PREFIXES: [&str; 7] =
    ["10.0.0.0/24", "10.0.0.1/32", "10.0.0.0/8", "0.0.0.0/0", "fd00::/64", "fd00::2/128", "::/0"];
const SERVICES: [Option<(u8, u16)>; 6] =
    [Some((TCP, 80)), Some((TCP, 443)), Some((UDP, 53)), Some((UDP, 80)), Some((TCP, 0)), None];
const SELECTORS: u128 = 3;

pub(super) fn class() -> PodClass {
    PodClass {
        namespace: "a".parse().unwrap(),
        selected_by: [SelectorId::new(0)].into(),
        not_selected_by: [SelectorId::new(1), SelectorId::new(2)].into(),
    }
}

/// Connections with each peer, by the address of the pod.
pub(super) fn pairs() -> impl Iterator<Item = (IpAddr, IpAddr, Option<(u8, u16)>)> {
    let peers = PEERS.iter().map(|text| text.parse::<IpAddr>().unwrap());
    peers.flat_map(|peer| {
        let pod = POD[usize::from(peer.is_ipv6())].parse().unwrap();
        SERVICES.map(|service| (pod, peer, service))
    })
}

pub(super) fn connection(packet: Packet) -> Connection {
    let port = |protocol| (protocol, packet.to);
    let port = match packet.protocol {
        TCP => Some(port(TransportProtocol::Tcp)),
        UDP => Some(port(TransportProtocol::Udp)),
        _ => None,
    };
    Connection { source: packet.source, destination: packet.destination, port }
}

pub(super) fn pods(random: &mut Random) -> PodAddresses {
    let mut all = BTreeMap::new();
    for text in PEERS {
        let selected_by: BTreeSet<SelectorId> =
            (0..SELECTORS).filter(|_| random.below(2) == 0).map(SelectorId::new).collect();
        let class = PodClass { namespace: "b".parse().unwrap(), selected_by, not_selected_by: BTreeSet::new() };
        if random.below(3) > 0 {
            all.insert(text.parse().unwrap(), Arc::new(class));
        }
    }
    PodAddresses(all)
}

pub(super) fn policies(random: &mut Random) -> Vec<Policy> {
    (0..random.below(4)).map(|place| policy(random, place)).collect()
}

fn policy(random: &mut Random, place: usize) -> Policy {
    let rules =
        |random: &mut Random| (random.below(2) == 0).then(|| (0..random.below(3)).map(|_| rule(random)).collect());
    Policy {
        namespace: random.pick(&["a", "a", "b"]).parse().unwrap(),
        name: format!("p{place}"),
        pods: (random.below(2) == 0).then(|| SelectorId::new(random.below(2) as u128)),
        ingress: rules(random),
        egress: rules(random),
    }
}

fn rule(random: &mut Random) -> PolicyRule {
    let peers = match random.below(4) {
        0 => PeerAddresses::Any,
        _ => PeerAddresses::Within((0..random.below(3)).map(|_| random.pick(&PREFIXES).parse().unwrap()).collect()),
    };
    let ports = match random.below(3) {
        0 => DestinationPorts::Any,
        _ => DestinationPorts::Within((0..random.below(3)).map(|_| range(random)).collect()),
    };
    let peer_pods = (0..SELECTORS).filter(|_| random.below(3) == 0).map(SelectorId::new).collect();
    PolicyRule { peers, peer_pods, ports }
}

fn range(random: &mut Random) -> PortRange {
    let [first, last] = *random.pick(&[[80, 80], [53, 79], [443, 443], [0, u16::MAX], [0, 53]]);
    let protocol = *random.pick(&[TransportProtocol::Tcp, TransportProtocol::Udp]);
    PortRange { protocol, first, last }
}
