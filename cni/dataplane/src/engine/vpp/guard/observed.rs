//! Tables as VPP has them, and the guard that they are.

use super::kind::is_marked;
use super::{Kind, Session, Verdict, chain, text};
use crate::model::port::{Guard, GuardedAddresses};
use std::collections::BTreeSet;
use usnet_crds::MacAddress;
use usnet_vpp::messages::{ClassifySessionDetails, DENY};

/// A table as VPP has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct ObservedTable {
    pub(in crate::engine::vpp) index: u32,
    pub(in crate::engine::vpp) mask: Vec<u8>,
    /// Whether frames that no session matches are dropped, if no table follows.
    pub(in crate::engine::vpp) drops_others: bool,
    pub(in crate::engine::vpp) sessions: BTreeSet<Session>,
}

impl ObservedTable {
    /// Whether usnet added any of its sessions.
    pub(in crate::engine::vpp) fn is_own(&self) -> bool {
        self.sessions.iter().any(|session| is_marked(session.number))
    }
}

impl From<ClassifySessionDetails> for Session {
    /// What moves the start of a frame is no session of usnet.
    fn from(details: ClassifySessionDetails) -> Self {
        let verdict = if details.hit_next_index == DENY { Verdict::Drop } else { Verdict::Pass };
        let number = if details.advance == 0 { details.opaque_index } else { u32::MAX };
        Self { matched: details.r#match, verdict, number }
    }
}

/// The guard that a chain says it is, whether it is or not; `None` for tables of other clients.
fn named(tables: &[ObservedTable]) -> Option<Guard> {
    let last = tables.last().filter(|table| table.mask == Kind::Text.mask())?;
    text::read(&last.sessions)?.parse().ok()
}

/// The guard of an interface that has these tables. Tables that are not exactly those of a guard
/// are the guard of no pod, so that they are replaced.
pub(in crate::engine::vpp) fn guard_of(tables: &[ObservedTable]) -> Guard {
    let no_pod = Guard {
        mac: MacAddress::of("tables of no guard"),
        addresses: GuardedAddresses::Only { addresses: BTreeSet::new(), dhcp: false },
        pairs: BTreeSet::new(),
    };
    named(tables).filter(|guard| is_chain(tables, guard)).unwrap_or(no_pod)
}

/// The chain of a guard may follow the first table of a former one, which has no sessions then.
fn is_chain(tables: &[ObservedTable], guard: &Guard) -> bool {
    let desired = chain(guard);
    let is_left = |table: &ObservedTable| {
        let kind = Kind::of(&table.mask).filter(|kind| desired.first().is_some_and(|first| first.kind != *kind));
        kind.is_some() && table.drops_others && table.sessions.is_empty()
    };
    let is_table = |(table, desired): (&ObservedTable, &super::Table)| {
        table.mask == desired.kind.mask() && table.drops_others && table.sessions == desired.sessions
    };
    let is_all = |tables: &[ObservedTable]| tables.len() == desired.len() && tables.iter().zip(&desired).all(is_table);
    is_all(tables) || tables.split_first().is_some_and(|(first, others)| is_left(first) && is_all(others))
}
