//! Tables 21 and 22: the classes of pods that are peers, by the addresses of a connection's first
//! packet. An address more is one flow in each table, whatever the number of rules.

use super::differing::differing;
use super::step::{DESTINATION_CLASS, DESTINATION_POD, EGRESS, SOURCE_CLASS, SOURCE_POD, flow};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::names::fnv1a;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::{PodAddresses, PodClass, SelectorId};
use usnet_openflow::flow::{Flow, Ipv4, Ipv6, Masked, Match, Original, Payload, Register, Step};

const ADDRESS: u16 = 10;
const REST: u16 = 0;

/// The classes of peers of one direction: addresses that no rule of a port of the bridge tells
/// apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PeerClasses {
    pub(super) direction: Direction,
    addresses: BTreeMap<IpAddr, u32>,
    /// The classes that each selector selects.
    pub(super) numbers: SelectedClasses,
}

/// The numbers of the classes that each selector selects.
pub(super) type SelectedClasses = BTreeMap<SelectorId, BTreeSet<u32>>;

impl PeerClasses {
    /// The classes of addresses that any of the selectors `used` selects. Pods of one class share
    /// it, so that it is looked at once.
    pub(super) fn of(peers: &PodAddresses, used: &BTreeSet<SelectorId>, direction: Direction) -> Self {
        let mut found = Self { direction, addresses: BTreeMap::new(), numbers: BTreeMap::new() };
        if used.is_empty() {
            return found;
        }
        let mut known: BTreeSet<*const PodClass> = BTreeSet::new();
        let mut classes: BTreeMap<BTreeSet<SelectorId>, Vec<*const PodClass>> = BTreeMap::new();
        for class in peers.0.values().filter(|class| known.insert(Arc::as_ptr(class))) {
            let selected_by: BTreeSet<SelectorId> = class.selected_by.intersection(used).copied().collect();
            if !selected_by.is_empty() {
                classes.entry(selected_by).or_default().push(Arc::as_ptr(class));
            }
        }
        let mut numbers = BTreeSet::from([0]);
        let mut of_class: BTreeMap<*const PodClass, u32> = BTreeMap::new();
        for (selected_by, classes) in classes {
            let number = number(&selected_by, &mut numbers);
            of_class.extend(classes.into_iter().map(|class| (class, number)));
            for selector in selected_by {
                found.numbers.entry(selector).or_default().insert(number);
            }
        }
        let number = |class: &Arc<PodClass>| of_class.get(&Arc::as_ptr(class)).copied();
        found.addresses = peers.0.iter().filter_map(|(address, class)| Some((*address, number(class)?))).collect();
        found
    }

    /// How many addresses they have.
    pub(super) fn addresses(&self) -> usize {
        self.addresses.len()
    }

    fn flow(&self, address: IpAddr, number: u32, table: u8, next: u8) -> Flow {
        let payload = match address {
            IpAddr::V4(address) => Payload::Ipv4(Ipv4 { original: self.original(address.into()), ..Ipv4::default() }),
            IpAddr::V6(address) => Payload::Ipv6(Ipv6 { original: self.original(address.into()), ..Ipv6::default() }),
        };
        let steps = vec![Step::Set(peer_register(self.direction), number)];
        flow(table, ADDRESS, Match { payload, ..Match::default() }, steps, Some(next))
    }

    fn original<A>(&self, address: Masked<A>) -> Original<A> {
        match self.direction {
            Direction::Ingress => Original { src: Some(address), ..Original::default() },
            Direction::Egress => Original { dst: Some(address), ..Original::default() },
        }
    }
}

/// The register with the class of the peer.
pub(super) const fn peer_register(direction: Direction) -> Register {
    match direction {
        Direction::Ingress => SOURCE_CLASS,
        Direction::Egress => DESTINATION_CLASS,
    }
}

/// The classes that any of these selectors selects.
pub(super) fn selected_by(numbers: &SelectedClasses, selectors: &BTreeSet<SelectorId>) -> BTreeSet<u32> {
    selectors.iter().filter_map(|selector| numbers.get(selector)).flatten().copied().collect()
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
    tables(peers).first().map_or(EGRESS, |table| table.number)
}

/// The tables that are needed, in order, each with the one that follows.
fn tables(peers: &[PeerClasses; 2]) -> Vec<Table<'_>> {
    let [ingress, egress] = peers;
    let all = [(SOURCE_POD, ingress), (DESTINATION_POD, egress)];
    let needed: Vec<_> = all.into_iter().filter(|(_, peers)| !peers.addresses.is_empty()).collect();
    let nexts = needed.iter().skip(1).map(|(number, _)| *number).chain([EGRESS]);
    needed.iter().zip(nexts).map(|((number, peers), next)| Table { number: *number, next, peers }).collect()
}

/// A table of classes.
struct Table<'a> {
    number: u8,
    next: u8,
    peers: &'a PeerClasses,
}

impl Table<'_> {
    fn flow(&self, (address, class): (&IpAddr, &u32)) -> Flow {
        self.peers.flow(*address, *class, self.number, self.next)
    }
}

/// The flows for addresses without a class.
pub(super) fn fixed(peers: &[PeerClasses; 2]) -> impl Iterator<Item = Flow> {
    let rest = |table: Table<'_>| flow(table.number, REST, Match::default(), Vec::new(), Some(table.next));
    tables(peers).into_iter().map(rest)
}

/// The flows of all addresses.
pub(super) fn flows(peers: &[PeerClasses; 2]) -> Vec<Flow> {
    tables(peers).iter().flat_map(|table| table.peers.addresses.iter().map(move |entry| table.flow(entry))).collect()
}

/// The flows of addresses that others have not, or not so.
pub(super) fn flows_besides(peers: &[PeerClasses; 2], others: &[PeerClasses; 2]) -> Vec<Flow> {
    let others = tables(others);
    let other = |table: &Table<'_>| {
        let is_same = |other: &&Table<'_>| (other.number, other.next) == (table.number, table.next);
        others.iter().find(is_same).map(|other| &other.peers.addresses)
    };
    let besides = |table: &Table<'_>| -> Vec<Flow> {
        let addresses = &table.peers.addresses;
        match other(table) {
            None => addresses.iter().map(|entry| table.flow(entry)).collect(),
            Some(other) => differing(addresses, other).map(|entry| table.flow(entry)).collect(),
        }
    };
    tables(peers).iter().flat_map(besides).collect()
}
