//! Tables 21 and 22: the classes of pods that are peers, by the addresses of a connection's first
//! packet. An address more is one flow in each table, whatever the number of rules.

mod classes;

pub(super) use classes::{PeerClasses, Peers, SelectedClasses};

use super::differing::differing;
use super::step::{DESTINATION_CLASS, DESTINATION_POD, EGRESS, SOURCE_CLASS, SOURCE_POD, flow};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::policy::Direction;
use usnet_crds::policy::pods::SelectorId;
use usnet_openflow::flow::{Flow, Ipv4, Ipv6, Masked, Match, Original, Payload, Register, Step};

const ADDRESS: u16 = 10;
const REST: u16 = 0;

impl PeerClasses {
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
            Some(other) if Arc::ptr_eq(other, addresses) => Vec::new(),
            Some(other) => differing(addresses, other).map(|entry| table.flow(entry)).collect(),
        }
    };
    tables(peers).iter().flat_map(besides).collect()
}
