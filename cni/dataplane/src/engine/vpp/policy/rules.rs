//! Rules of access lists for what a pod may have. No IO.
//!
//! In a direction that policies restrict these pass:
//! - neighbor discovery, and errors of ICMP;
//! - what rules allow, if only this direction is restricted without sessions. If the other one is
//!   as well, only datagrams add sessions, and TCP passes also if it may be the answer to what
//!   rules allow there, and begins no connection.
//!
//! In a direction that they do not restrict, while they restrict the other one, everything passes:
//! - the first packet of TCP adds a session, others do not;
//! - datagrams add sessions, unless they answer what rules allow in the other direction.
//!
//! So where one direction is restricted, what rules allow adds no session, and neither do its
//! answers: a rule that is gone ends its connections at once, and connections of the open direction
//! go on.

use super::rule_set::{Permit, RuleSet, Service};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::collections::BTreeSet;
use usnet_crds::policy::Direction;
use usnet_crds::policy::rule::{PortRange, TransportProtocol};
use usnet_vpp::messages::{AclAction, AclRule, Prefix};

const ANY_PROTOCOL: u8 = 0;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Neighbor discovery and multicast listener discovery, by their types in ICMPv6.
const DISCOVERY: [[u16; 2]; 2] = [[130, 136], [143, 143]];
const ERRORS: [[u16; 2]; 2] = [[3, 3], [11, 12]];
const ERRORS_OF_IPV6: [u16; 2] = [1, 4];
const LAST_CODE: u16 = 255;

/// The rules of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRules {
    /// What its pod may send.
    pub input: Vec<AclRule>,
    /// What its pod gets.
    pub output: Vec<AclRule>,
}

/// The rules of a port whose policies are not known: it finds neighbors, and nothing else.
#[must_use]
pub fn closed() -> PortRules {
    PortRules { input: discovery(), output: discovery() }
}

/// The rules of a pod. Until packets that earlier rules allowed have arrived, answers to those
/// (`earlier`) add no sessions.
#[must_use]
pub fn compile(rules: &RuleSet, earlier: Option<&RuleSet>) -> PortRules {
    let [input, output] = [Direction::Egress, Direction::Ingress].map(|direction| {
        let other = opposite(direction);
        match (rules.in_direction(direction), rules.in_direction(other)) {
            (Some(own), answered) => restricted(direction, own, answered),
            (None, answered) => {
                let earlier = earlier.and_then(|earlier| earlier.in_direction(other));
                open(direction, &answered.into_iter().chain(earlier).flatten().copied().collect())
            }
        }
    });
    PortRules { input, output }
}

const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Ingress => Direction::Egress,
        Direction::Egress => Direction::Ingress,
    }
}

/// A direction that policies restrict, and what the other one allows if they restrict it as well.
fn restricted(direction: Direction, own: &BTreeSet<Permit>, answered: Option<&BTreeSet<Permit>>) -> Vec<AclRule> {
    let permit = |permit: &Permit, action| Rule::of(permit, direction, action);
    let mut rules = discovery();
    rules.extend(errors());
    let Some(answered) = answered else {
        rules.extend(own.iter().map(|own| permit(own, AclAction::Permit).towards(direction)));
        return rules;
    };
    let with_tcp = |permit: &Permit| Some(Permit { service: tcp(permit.service)?, ..*permit });
    let of_tcp = own.iter().filter_map(with_tcp);
    rules.extend(of_tcp.map(|own| permit(&own, AclAction::Permit).towards(direction)));
    for answered in answered.iter().filter_map(with_tcp) {
        let answer = Rule::of(&answered, opposite(direction), AclAction::Permit);
        rules.extend([ACK, RST].map(|flag| Rule { flags: [flag, flag], ..answer.clone() }.towards(direction)));
    }
    let datagrams = own.iter().filter(|own| own.has_datagrams());
    rules.extend(datagrams.map(|own| permit(own, AclAction::PermitReflect).towards(direction)));
    rules
}

/// A direction that policies do not restrict, and what they allow in the other one.
fn open(direction: Direction, answered: &BTreeSet<Permit>) -> Vec<AclRule> {
    let any = [IpNet::from(Ipv4Net::default()), Ipv6Net::default().into()];
    let of = |peer, protocol, action| Rule { protocol, action, ..Rule::any(peer) };
    // It would add a session for each pair of hosts.
    let mut rules = discovery();
    for peer in any {
        let first = Rule { flags: [SYN | ACK, SYN], ..of(peer, TCP, AclAction::PermitReflect) };
        rules.extend([first, of(peer, TCP, AclAction::Permit)].map(|rule| rule.towards(direction)));
    }
    let answers = answered.iter().filter(|answered| answered.has_datagrams());
    let answers = answers.map(|answered| Rule::of(answered, opposite(direction), AclAction::Permit));
    rules.extend(answers.map(|answer| answer.towards(direction)));
    rules.extend(any.map(|peer| of(peer, ANY_PROTOCOL, AclAction::PermitReflect).towards(direction)));
    rules
}

/// The part of a service that is TCP.
fn tcp(service: Service) -> Option<Service> {
    match service {
        Service::Any => Some(Service::Ports(PortRange { protocol: TransportProtocol::Tcp, first: 0, last: u16::MAX })),
        Service::Ports(range) => (range.protocol == TransportProtocol::Tcp).then_some(service),
    }
}

/// A rule, by the pod and its peer.
#[derive(Debug, Clone)]
struct Rule {
    peer: IpNet,
    protocol: u8,
    peer_ports: [u16; 2],
    pod_ports: [u16; 2],
    /// Which flags of TCP are compared, and with what.
    flags: [u8; 2],
    action: AclAction,
}

impl Rule {
    const fn any(peer: IpNet) -> Self {
        let all = [0, u16::MAX];
        Self { peer, protocol: ANY_PROTOCOL, peer_ports: all, pod_ports: all, flags: [0, 0], action: AclAction::Permit }
    }

    /// The packets of connections of this direction. Their ports are those of the destination.
    fn of(permit: &Permit, direction: Direction, action: AclAction) -> Self {
        let any = Self { action, ..Self::any(permit.peer) };
        let Service::Ports(PortRange { protocol, first, last }) = permit.service else { return any };
        let protocol = match protocol {
            TransportProtocol::Tcp => TCP,
            TransportProtocol::Udp => UDP,
        };
        match direction {
            Direction::Ingress => Self { protocol, pod_ports: [first, last], ..any },
            Direction::Egress => Self { protocol, peer_ports: [first, last], ..any },
        }
    }

    /// The rule for packets to the pod, or from it.
    fn towards(self, direction: Direction) -> AclRule {
        let Self { peer, protocol, peer_ports, pod_ports, flags: [tcp_flags_mask, tcp_flags_value], action } = self;
        let peer_prefix = prefix(peer);
        let pod_prefix = prefix(any_of(peer));
        let (source, destination, sources, destinations) = match direction {
            Direction::Ingress => (peer_prefix, pod_prefix, peer_ports, pod_ports),
            Direction::Egress => (pod_prefix, peer_prefix, pod_ports, peer_ports),
        };
        let ([first_source, last_source], [first_destination, last_destination]) = (sources, destinations);
        AclRule {
            action,
            source,
            destination,
            protocol,
            first_source,
            last_source,
            first_destination,
            last_destination,
            tcp_flags_mask,
            tcp_flags_value,
        }
    }
}

fn prefix(net: IpNet) -> Prefix {
    Prefix::new(net.network(), net.prefix_len())
}

/// All addresses of the family.
fn any_of(net: IpNet) -> IpNet {
    match net {
        IpNet::V4(_) => Ipv4Net::default().into(),
        IpNet::V6(_) => Ipv6Net::default().into(),
    }
}

fn discovery() -> Vec<AclRule> {
    DISCOVERY.map(|types| icmp(Ipv6Net::default().into(), types)).into()
}

fn errors() -> impl Iterator<Item = AclRule> {
    let of_ipv4 = ERRORS.map(|types| icmp(Ipv4Net::default().into(), types));
    of_ipv4.into_iter().chain([icmp(Ipv6Net::default().into(), ERRORS_OF_IPV6)])
}

/// Types of ICMP between any hosts.
fn icmp(any: IpNet, [first_source, last_source]: [u16; 2]) -> AclRule {
    let protocol = if any.addr().is_ipv4() { ICMP } else { ICMPV6 };
    let last_destination = LAST_CODE;
    AclRule {
        protocol,
        first_source,
        last_source,
        first_destination: 0,
        last_destination,
        ..Rule::any(any).towards(Direction::Ingress)
    }
}
