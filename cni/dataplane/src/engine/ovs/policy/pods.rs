//! Tables 21 and 22: the classes of pods that are peers, by the addresses of a connection's first
//! packet. An address more is one flow in each table, whatever the number of rules.

use super::BridgePolicies;
use super::port::Subjects;
use super::step::{DESTINATION_CLASS, DESTINATION_POD, EGRESS, SOURCE_CLASS, SOURCE_POD, flow};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::names::fnv1a;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::SelectorId;
use usnet_openflow::flow::{Flow, Ipv4, Ipv6, Masked, Match, Original, Payload, Register, Step};

const ADDRESS: u16 = 10;
const REST: u16 = 0;

/// The classes of peers of one direction: addresses that no rule of a port of the bridge tells
/// apart.
#[derive(Debug)]
pub(super) struct PeerClasses {
    pub(super) direction: Direction,
    addresses: BTreeMap<IpAddr, u32>,
    /// The classes that each selector selects.
    numbers: BTreeMap<SelectorId, BTreeSet<u32>>,
}

impl PeerClasses {
    pub(super) fn of(bridge: &BridgePolicies<'_>, subjects: &Subjects<'_>, direction: Direction) -> Self {
        let used = selectors(bridge, subjects, direction);
        let mut found = Self { direction, addresses: BTreeMap::new(), numbers: BTreeMap::new() };
        if used.is_empty() {
            return found;
        }
        let mut classes: BTreeMap<BTreeSet<SelectorId>, Vec<IpAddr>> = BTreeMap::new();
        for (address, class) in &bridge.peers.0 {
            let selected_by: BTreeSet<SelectorId> = class.selected_by.intersection(&used).copied().collect();
            if !selected_by.is_empty() {
                classes.entry(selected_by).or_default().push(*address);
            }
        }
        let mut numbers = BTreeSet::from([0]);
        for (selected_by, addresses) in classes {
            let number = number(&selected_by, &mut numbers);
            found.addresses.extend(addresses.into_iter().map(|address| (address, number)));
            for selector in selected_by {
                found.numbers.entry(selector).or_default().insert(number);
            }
        }
        found
    }

    /// How many addresses they have.
    pub(super) fn addresses(&self) -> usize {
        self.addresses.len()
    }

    /// The classes that any of these selectors selects.
    pub(super) fn selected_by(&self, selectors: &BTreeSet<SelectorId>) -> BTreeSet<u32> {
        selectors.iter().filter_map(|selector| self.numbers.get(selector)).flatten().copied().collect()
    }

    /// The register with the class of the peer.
    pub(super) const fn register(&self) -> Register {
        match self.direction {
            Direction::Ingress => SOURCE_CLASS,
            Direction::Egress => DESTINATION_CLASS,
        }
    }

    fn flow(&self, address: IpAddr, number: u32, table: u8, next: u8) -> Flow {
        let payload = match address {
            IpAddr::V4(address) => Payload::Ipv4(Ipv4 { original: self.original(address.into()), ..Ipv4::default() }),
            IpAddr::V6(address) => Payload::Ipv6(Ipv6 { original: self.original(address.into()), ..Ipv6::default() }),
        };
        let steps = vec![Step::Set(self.register(), number)];
        flow(table, ADDRESS, Match { payload, ..Match::default() }, steps, Some(next))
    }

    fn original<A>(&self, address: Masked<A>) -> Original<A> {
        match self.direction {
            Direction::Ingress => Original { src: Some(address), ..Original::default() },
            Direction::Egress => Original { dst: Some(address), ..Original::default() },
        }
    }
}

/// The selectors of peers in rules that a port of the bridge has.
fn selectors(bridge: &BridgePolicies<'_>, subjects: &Subjects<'_>, direction: Direction) -> BTreeSet<SelectorId> {
    let with_ports = bridge.policies.iter().filter(|policy| subjects.of_policy(policy).next().is_some());
    let rules = with_ports.filter_map(|policy| policy.rules(direction)).flatten();
    rules.filter(|rule| !rule.has_any_peer()).flat_map(|rule| rule.peer_pods.iter().copied()).collect()
}

/// The number of a class follows from its selectors, so that another class changes none, unless
/// the numbers are the same.
fn number(selected_by: &BTreeSet<SelectorId>, numbers: &mut BTreeSet<u32>) -> u32 {
    let text: String = selected_by.iter().map(SelectorId::to_string).collect();
    let [_, _, _, _, low @ ..] = fnv1a(text.as_bytes()).to_be_bytes();
    let mut number = u32::from_be_bytes(low);
    while !numbers.insert(number) {
        number = number.wrapping_add(1);
    }
    number
}

/// The first table behind that of connections.
pub(super) fn entry(peers: &[PeerClasses; 2]) -> u8 {
    tables(peers).first().map_or(EGRESS, |(table, _)| *table)
}

/// The tables that are needed, in order.
fn tables(peers: &[PeerClasses; 2]) -> Vec<(u8, &PeerClasses)> {
    let [ingress, egress] = peers;
    let all = [(SOURCE_POD, ingress), (DESTINATION_POD, egress)];
    all.into_iter().filter(|(_, peers)| !peers.addresses.is_empty()).collect()
}

pub(super) fn flows(peers: &[PeerClasses; 2]) -> Vec<Flow> {
    let tables = tables(peers);
    let nexts = tables.iter().skip(1).map(|(table, _)| *table).chain([EGRESS]);
    let mut flows = Vec::new();
    for ((table, peers), next) in tables.iter().zip(nexts) {
        flows.extend(peers.addresses.iter().map(|(address, number)| peers.flow(*address, *number, *table, next)));
        flows.push(flow(*table, REST, Match::default(), Vec::new(), Some(next)));
    }
    flows
}
