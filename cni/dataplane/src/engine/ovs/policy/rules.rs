//! Tables 25 and 30: the rules of isolated ports. A rule is a conjunction of its classes of ports,
//! its peers and its destination ports, so that flows are as many as these together, and not as
//! their combinations. A match that several rules have is one flow for all of them.

use super::pods::PeerClasses;
use super::port::{Subjects, of_class};
use super::port_mask::{blocks, masked};
use super::step::{DELIVER, DESTINATION_PORT, EGRESS, FLOOD, INGRESS, SOURCE_PORT, flow, refusal, with};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use usnet_crds::names::fnv1a;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, TransportProtocol};
use usnet_crds::policy::{Direction, Policy};
use usnet_openflow::flow::{Flow, Ipv4, Ipv6, Masked, Match, Original, OriginalPayload, Payload, Register, Step};

const ALLOW_ALL: u16 = 110;
const RULE: u16 = 100;
const REFUSE: u16 = 5;
const PASS: u16 = 0;

/// One alternative of a dimension of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Clause {
    Class(u16),
    Peer {
        address: IpAddr,
        mask: IpAddr,
    },
    /// A class of pods that are peers.
    PeerPods(u32),
    Port {
        is_ipv4: bool,
        protocol: TransportProtocol,
        block: (u16, u16),
    },
}

/// What a direction compares, and where packets go on.
#[derive(Debug, Clone, Copy)]
struct Side {
    table: u8,
    subject: Register,
    peer: Register,
    next: u8,
}

impl Side {
    /// A match on ports of a class.
    fn of_class(self, number: u16) -> Match {
        with(self.subject, of_class(number), Payload::Any)
    }
}

/// The flows of a direction.
pub(super) fn flows<'a>(subjects: &Subjects<'a>, policies: &'a [Policy], peers: &PeerClasses) -> Vec<Flow> {
    let (direction, peer) = (peers.direction, peers.register());
    let side = match direction {
        Direction::Egress => Side { table: EGRESS, subject: SOURCE_PORT, peer, next: FLOOD },
        Direction::Ingress => Side { table: INGRESS, subject: DESTINATION_PORT, peer, next: DELIVER },
    };
    let mut flows = vec![flow(side.table, PASS, Match::default(), Vec::new(), Some(side.next))];
    for port in subjects.isolated_in(direction) {
        let of_port = with(side.subject, port.register(), Payload::Any);
        flows.push(refusal(port.number, side.table, REFUSE, of_port));
    }
    let mut clauses: BTreeMap<Clause, Vec<Step>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let mut unrestricted = BTreeSet::new();
    for (rule, classes) in rules(subjects, policies, direction) {
        let dimensions = dimensions(rule, &classes, peers);
        if dimensions.iter().any(Vec::is_empty) {
            continue;
        }
        if dimensions.len() == 1 {
            unrestricted.extend(classes);
            continue;
        }
        let id = id(rule, &mut ids);
        flows.push(flow(side.table, RULE, conjunction(id), Vec::new(), Some(side.next)));
        let count = u8::try_from(dimensions.len()).unwrap_or(u8::MAX);
        for (dimension, alternatives) in (0..).zip(&dimensions) {
            let step = Step::Conjunction { id, dimension, dimensions: count };
            alternatives.iter().for_each(|clause| clauses.entry(*clause).or_default().push(step));
        }
    }
    let allow_all = |class| flow(side.table, ALLOW_ALL, side.of_class(class), Vec::new(), Some(side.next));
    flows.extend(unrestricted.into_iter().map(allow_all));
    let flow_of =
        |(clause, steps): (Clause, Vec<Step>)| flow(side.table, RULE, clause.matches(side, direction), steps, None);
    flows.extend(clauses.into_iter().map(flow_of));
    flows
}

/// How many parts all rules of a direction have.
pub(super) fn parts<'a>(subjects: &Subjects<'a>, policies: &'a [Policy], peers: &PeerClasses) -> usize {
    let parts =
        |(rule, classes): (&PolicyRule, BTreeSet<u16>)| dimensions(rule, &classes, peers).iter().map(Vec::len).sum();
    rules(subjects, policies, peers.direction).into_iter().map(parts).fold(0, usize::saturating_add)
}

/// Each rule once, with the classes that have it.
fn rules<'a>(
    subjects: &Subjects<'a>,
    policies: &'a [Policy],
    direction: Direction,
) -> BTreeMap<&'a PolicyRule, BTreeSet<u16>> {
    let mut rules: BTreeMap<&PolicyRule, BTreeSet<u16>> = BTreeMap::new();
    for policy in policies {
        let classes: Vec<u16> = subjects.of_policy(policy).map(|class| class.number).collect();
        if classes.is_empty() {
            continue;
        }
        for rule in policy.rules(direction).unwrap_or_default() {
            rules.entry(rule).or_default().extend(&classes);
        }
    }
    rules
}

/// The dimensions of a rule, of which the first is always there. An empty one matches nothing.
fn dimensions(rule: &PolicyRule, classes: &BTreeSet<u16>, peers: &PeerClasses) -> Vec<Vec<Clause>> {
    let mut dimensions = vec![classes.iter().copied().map(Clause::Class).collect()];
    let mut families = [true, true];
    if let PeerAddresses::Within(prefixes) = &rule.peers {
        let pods = peers.selected_by(&rule.peer_pods);
        let has = |is_ipv4| prefixes.iter().any(|prefix| prefix.addr().is_ipv4() == is_ipv4);
        families = [true, false].map(|is_ipv4| !pods.is_empty() || has(is_ipv4));
        let clauses = prefixes.iter().map(|prefix| Clause::Peer { address: prefix.network(), mask: prefix.netmask() });
        dimensions.push(clauses.chain(pods.into_iter().map(Clause::PeerPods)).collect());
    }
    if let DestinationPorts::Within(ranges) = &rule.ports {
        let families = [true, false].into_iter().zip(families).filter_map(|(is_ipv4, has)| has.then_some(is_ipv4));
        let clauses = families.flat_map(|is_ipv4| {
            ranges.iter().flat_map(move |range| {
                let clause = move |block| Clause::Port { is_ipv4, protocol: range.protocol, block };
                blocks(range.first, range.last).into_iter().map(clause)
            })
        });
        // Ranges that overlap may have the same block.
        dimensions.push(clauses.collect::<BTreeSet<_>>().into_iter().collect());
    }
    dimensions
}

/// A number for a rule, which the same rule usually has again: a changed policy then changes few
/// flows.
fn id(rule: &PolicyRule, ids: &mut BTreeSet<u32>) -> u32 {
    let mut text = String::new();
    // Writing to a text never fails.
    let _written = match &rule.peers {
        PeerAddresses::Any => write!(text, "any"),
        PeerAddresses::Within(prefixes) => prefixes.iter().try_for_each(|prefix| write!(text, "{prefix},")),
    };
    let _written = rule.peer_pods.iter().try_for_each(|selector| write!(text, "{selector},"));
    if let DestinationPorts::Within(ranges) = &rule.ports {
        let _written = ranges.iter().try_for_each(|range| {
            let protocol = if range.protocol == TransportProtocol::Tcp { "tcp" } else { "udp" };
            write!(text, " {protocol} {}-{}", range.first, range.last)
        });
    }
    let [_, _, _, _, low @ ..] = fnv1a(text.as_bytes()).to_be_bytes();
    let mut id = u32::from_be_bytes(low);
    while !ids.insert(id) {
        id = id.wrapping_add(1);
    }
    id
}

fn conjunction(id: u32) -> Match {
    Match { conjunction: Some(id), ..Match::default() }
}

impl Clause {
    fn matches(self, side: Side, direction: Direction) -> Match {
        let payload = match self {
            Self::Class(number) => return side.of_class(number),
            Self::PeerPods(number) => return with(side.peer, number, Payload::Any),
            Self::Peer { address: IpAddr::V4(address), mask: IpAddr::V4(mask) } => {
                ipv4(peer(direction, Masked::new(address, mask)))
            }
            Self::Peer { address: IpAddr::V6(address), mask: IpAddr::V6(mask) } => {
                ipv6(peer(direction, Masked::new(address, mask)))
            }
            // An address and its mask are of one family.
            Self::Peer { .. } => Payload::EtherType(0),
            Self::Port { is_ipv4: true, protocol, block } => ipv4(port(protocol, block)),
            Self::Port { is_ipv4: false, protocol, block } => ipv6(port(protocol, block)),
        };
        Match { payload, ..Match::default() }
    }
}

fn ipv4(original: Original<Ipv4Addr>) -> Payload {
    Payload::Ipv4(Ipv4 { original, ..Ipv4::default() })
}

fn ipv6(original: Original<Ipv6Addr>) -> Payload {
    Payload::Ipv6(Ipv6 { original, ..Ipv6::default() })
}

fn peer<A>(direction: Direction, prefix: Masked<A>) -> Original<A> {
    match direction {
        Direction::Egress => Original { dst: Some(prefix), ..Original::default() },
        Direction::Ingress => Original { src: Some(prefix), ..Original::default() },
    }
}

fn port<A>(protocol: TransportProtocol, block: (u16, u16)) -> Original<A> {
    let dst = masked(block);
    let payload = match protocol {
        TransportProtocol::Tcp => OriginalPayload::Tcp { dst },
        TransportProtocol::Udp => OriginalPayload::Udp { dst },
    };
    Original { payload, ..Original::default() }
}
