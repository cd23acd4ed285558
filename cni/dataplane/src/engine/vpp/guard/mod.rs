//! Classifier tables that refuse forged frames of a port (`antiSpoofing`). No IO.
//!
//! What is allowed is listed, and what no table permits is dropped. Each port has a chain of its
//! own: in one that ports share, a pod could use the MAC address and the IP address of another pod
//! together. The first table with a session for a frame decides:
//!
//! | table | frames | |
//! |---|---|---|
//! | [`Kind::Mac`] | everything from the MAC address, if addresses are not checked | pass |
//! | [`Kind::DhcpServer`], [`Kind::Icmpv6`], … | of servers of DHCP and of routers | dropped |
//! | [`Kind::Ipv4`], [`Kind::Ipv6`], [`Kind::Arp`], … | with own addresses | pass |
//! | [`Kind::Text`] | | dropped |
//!
//! A table compares bytes at fixed offsets from the start of a frame, at most 80: so the options of
//! neighbor discovery are not checked, IPv4 with options is refused except for IGMP, and IPv6 with
//! extension headers except for fragments of other than ICMPv6. Lengths are not compared, so that
//! nothing hides by them.
//!
//! The first table of a chain stays while the guard of the port changes: VPP replaces what follows
//! it at once, and frames meet either the tables before or those after. If the new chain begins
//! with another kind, the first table has no sessions any more. The last table has the text
//! of the guard in sessions that drop what is dropped there anyhow: tables have no tags, and those
//! of interfaces are too short.

mod change;
mod ipv4;
mod ipv6;
mod kind;
mod layout;
mod observed;
mod text;

pub(super) use change::{GuardChange, fill};
pub(super) use kind::Kind;
pub(super) use observed::{ObservedTable, guard_of};

use crate::engine::guard_identity::identities;
use crate::model::port::{Guard, GuardedAddresses};
use std::collections::BTreeSet;

/// What happens to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Drop,
    Pass,
}

/// Frames of one table, and what happens to them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Session {
    /// The bytes of the mask.
    pub(super) matched: Vec<u8>,
    pub(super) verdict: Verdict,
    /// A number that VPP keeps.
    pub(super) number: u32,
}

/// A table with all of its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) kind: Kind,
    pub(super) sessions: BTreeSet<Session>,
}

/// The tables of a guard in their order.
pub(super) fn chain(guard: &Guard) -> Vec<Table> {
    let own = match &guard.addresses {
        GuardedAddresses::Any => None,
        GuardedAddresses::Only { addresses, .. } => Some(addresses),
    };
    let pairs = guard.pairs.iter().map(|pair| (pair.mac, pair.ip));
    let identities = identities(guard.mac, own.into_iter().flatten(), pairs);
    let mut tables = Vec::new();
    match &guard.addresses {
        GuardedAddresses::Any => {
            let sessions = identities.iter().map(|identity| Kind::Mac.permit(&[&identity.mac.octets()]));
            tables.push(Table::new(Kind::Mac, sessions));
        }
        GuardedAddresses::Only { dhcp, .. } => {
            tables.extend(ipv4::before_arp(&identities));
            tables.extend(ipv6::tables(&identities));
            tables.extend(ipv4::arp(guard.mac, &identities));
            tables.extend(dhcp.then(|| ipv4::dhcp_client(guard.mac)));
        }
    }
    tables.push(text::table(&guard.to_string()));
    tables
}

impl Table {
    fn new(kind: Kind, sessions: impl IntoIterator<Item = Session>) -> Self {
        Self { kind, sessions: sessions.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
