//! Tables 25 and 30: the rules of isolated ports. A rule is a conjunction of its classes of ports,
//! its peers and its destination ports, so that flows are as many as these together, and not as
//! their combinations. A match that several rules have is one flow for all of them.

use super::assigned::Assigned;
use super::differing::differing;
use super::pods::{PeerClasses, SelectedClasses, peer_register, selected_by};
use super::port::{Isolated, of_class};
use super::port_mask::{blocks, masked};
use super::step::{DELIVER, DESTINATION_PORT, EGRESS, FLOOD, INGRESS, SOURCE_PORT, flow, refusal, with};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use usnet_crds::names::fnv1a;
use usnet_crds::policy::Direction;
use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, TransportProtocol};
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
    const fn of(direction: Direction) -> Self {
        let peer = peer_register(direction);
        match direction {
            Direction::Egress => Self { table: EGRESS, subject: SOURCE_PORT, peer, next: FLOOD },
            Direction::Ingress => Self { table: INGRESS, subject: DESTINATION_PORT, peer, next: DELIVER },
        }
    }

    /// A match on ports of a class.
    fn of_class(self, number: u16) -> Match {
        with(self.subject, of_class(number), Payload::Any)
    }
}

/// The flow of every bridge.
pub(super) fn fixed(direction: Direction) -> Flow {
    let side = Side::of(direction);
    flow(side.table, PASS, Match::default(), Vec::new(), Some(side.next))
}

/// The flows that count what a port may not have.
pub(super) fn of_port(port: &Isolated) -> impl Iterator<Item = Flow> {
    Direction::ALL.into_iter().filter(move |direction| port.is_isolated_in(*direction)).map(move |direction| {
        let side = Side::of(direction);
        refusal(port.number, side.table, REFUSE, with(side.subject, port.register(), Payload::Any))
    })
}

/// The rules of one direction, as the matches that they share.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rules {
    direction: Direction,
    /// The ids of the conjunctions.
    ids: BTreeSet<u32>,
    /// The classes whose connections are not restricted.
    unrestricted: BTreeSet<u16>,
    clauses: BTreeMap<Clause, Vec<Step>>,
}

impl Rules {
    /// The rules of policies with these classes of peers.
    pub(super) fn new(assigned: &Assigned, PeerClasses { direction, numbers: peers, .. }: &PeerClasses) -> Self {
        let mut clauses: BTreeMap<Clause, Vec<Step>> = BTreeMap::new();
        let mut ids = BTreeSet::new();
        let mut unrestricted = BTreeSet::new();
        for (rule, classes) in assigned.rules(*direction) {
            let dimensions = dimensions(rule, &classes, peers);
            if dimensions.iter().any(Vec::is_empty) {
                continue;
            }
            if dimensions.len() == 1 {
                unrestricted.extend(classes);
                continue;
            }
            let id = id(rule, &mut ids);
            let count = u8::try_from(dimensions.len()).unwrap_or(u8::MAX);
            for (dimension, alternatives) in (0..).zip(&dimensions) {
                let step = Step::Conjunction { id, dimension, dimensions: count };
                alternatives.iter().for_each(|clause| clauses.entry(*clause).or_default().push(step));
            }
        }
        Self { direction: *direction, ids, unrestricted, clauses }
    }

    /// How many flows they have.
    pub(super) fn count(&self) -> usize {
        self.ids.len() + self.unrestricted.len() + self.clauses.len()
    }

    /// The most rules that a match is a part of.
    pub(super) fn most_of_match(&self) -> usize {
        self.clauses.values().map(Vec::len).max().unwrap_or_default()
    }

    pub(super) fn flows(&self) -> Vec<Flow> {
        let ids = self.ids.iter().map(|id| self.rule(*id));
        let unrestricted = self.unrestricted.iter().map(|class| self.all_of(*class));
        ids.chain(unrestricted).chain(self.clauses.iter().map(|clause| self.clause(clause))).collect()
    }

    /// The flows that others have not, or not so.
    pub(super) fn flows_besides(self: &Arc<Self>, others: &Arc<Self>) -> Vec<Flow> {
        if Arc::ptr_eq(self, others) {
            return Vec::new();
        }
        let ids = self.ids.difference(&others.ids).map(|id| self.rule(*id));
        let unrestricted = self.unrestricted.difference(&others.unrestricted).map(|class| self.all_of(*class));
        let clauses = differing(&self.clauses, &others.clauses).map(|clause| self.clause(clause));
        ids.chain(unrestricted).chain(clauses).collect()
    }

    fn rule(&self, id: u32) -> Flow {
        let side = Side::of(self.direction);
        flow(side.table, RULE, conjunction(id), Vec::new(), Some(side.next))
    }

    fn all_of(&self, class: u16) -> Flow {
        let side = Side::of(self.direction);
        flow(side.table, ALLOW_ALL, side.of_class(class), Vec::new(), Some(side.next))
    }

    fn clause(&self, (clause, steps): (&Clause, &Vec<Step>)) -> Flow {
        let side = Side::of(self.direction);
        flow(side.table, RULE, clause.matches(side, self.direction), steps.clone(), None)
    }
}

/// How many parts all rules of a direction have.
pub(super) fn parts(assigned: &Assigned, peers: &PeerClasses) -> usize {
    let parts = |(rule, classes): (&PolicyRule, BTreeSet<u16>)| {
        dimensions(rule, &classes, &peers.numbers).iter().map(Vec::len).sum()
    };
    assigned.rules(peers.direction).into_iter().map(parts).fold(0, usize::saturating_add)
}

/// The dimensions of a rule, of which the first is always there. An empty one matches nothing.
fn dimensions(rule: &PolicyRule, classes: &BTreeSet<u16>, peers: &SelectedClasses) -> Vec<Vec<Clause>> {
    let mut dimensions = vec![classes.iter().copied().map(Clause::Class).collect()];
    let mut families = [true, true];
    if let PeerAddresses::Within(prefixes) = &rule.peers {
        let pods = selected_by(peers, &rule.peer_pods);
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
