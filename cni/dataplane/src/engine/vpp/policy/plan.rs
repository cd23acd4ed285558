//! Which access lists are written and which ports get which, given what VPP has. Pure.
//!
//! Ports with the same rules share an access list. Rules that change are replaced in place if all
//! users of the list change alike: that ends no sessions. Otherwise a port gets another list, by
//! which VPP ends the sessions of its interface.

use super::rules::PortRules;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::messages::{AclRule, ByDirection};

/// What passes to ports besides IP, by Ethernet types: ARP, and from a pod also the message by
/// which a virtual machine says that it has moved.
const ARP: u16 = 0x0806;
const RARP: u16 = 0x8035;

pub(super) fn whitelist() -> ByDirection<u16> {
    ByDirection { input: vec![ARP, RARP], output: vec![ARP] }
}

/// What a port should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// `None` without any restriction.
    pub(super) rules: Option<PortRules>,
    /// Whether its sessions end if its rules change.
    pub(super) ends_sessions: bool,
    /// Whether it keeps the access lists of usnet that it has, if it has any.
    pub(super) keeps_any: bool,
}

/// What VPP has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AccessLists {
    /// The access lists of usnet, by their numbers.
    pub(super) own: BTreeMap<u32, Vec<AclRule>>,
    /// The access lists of each interface that has any, by its index.
    pub(super) lists: BTreeMap<u32, ByDirection<u32>>,
    pub(super) whitelists: BTreeMap<u32, ByDirection<u16>>,
    /// Whether packets from and to an interface are compared with its access lists.
    pub(super) in_effect: BTreeMap<u32, [bool; 2]>,
}

/// An access list of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Existing(u32),
    /// The place in [`Changes::created`].
    Created(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changes {
    pub(super) replaced: BTreeMap<u32, Vec<AclRule>>,
    pub(super) created: Vec<Vec<AclRule>>,
    pub(super) ports: Vec<PortChange>,
    /// The access lists of usnet that no interface has then.
    pub(super) unused: BTreeSet<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PortChange {
    pub(super) index: u32,
    /// The lists of input and output; `None` removes what there is.
    pub(super) lists: Option<[Place; 2]>,
    /// Whether the lists are removed first, because VPP does not compare with them.
    pub(super) is_reset: bool,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.created.is_empty() && self.ports.is_empty()
    }
}

pub(super) fn plan(found: &AccessLists, wanted: &BTreeMap<u32, Wanted>) -> Changes {
    let mut planner =
        Planner { found, wanted, contents: found.own.clone(), picked: BTreeSet::new(), changes: Changes::default() };
    for (index, port) in wanted {
        planner.port(*index, port);
    }
    let unchanged =
        found.lists.iter().filter(|(index, _)| !planner.changes.ports.iter().any(|port| port.index == **index));
    let used: BTreeSet<u32> =
        unchanged.flat_map(|(_, lists)| lists.input.iter().chain(&lists.output)).copied().collect();
    let is_unused = |acl: &u32| !used.contains(acl) && !planner.picked.contains(acl);
    planner.changes.unused = found.own.keys().copied().filter(is_unused).collect();
    planner.changes
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Input,
    Output,
}

impl Side {
    fn rules(self, rules: &PortRules) -> &Vec<AclRule> {
        match self {
            Self::Input => &rules.input,
            Self::Output => &rules.output,
        }
    }

    const fn list(self, lists: &ByDirection<u32>) -> &Vec<u32> {
        match self {
            Self::Input => &lists.input,
            Self::Output => &lists.output,
        }
    }
}

struct Planner<'a> {
    found: &'a AccessLists,
    wanted: &'a BTreeMap<u32, Wanted>,
    /// The rules of access lists, as they are when the changes are done.
    contents: BTreeMap<u32, Vec<AclRule>>,
    /// The access lists that ports have or get, whose rules stay.
    picked: BTreeSet<u32>,
    changes: Changes,
}

impl Planner<'_> {
    fn port(&mut self, index: u32, port: &Wanted) {
        let lists = self.found.lists.get(&index);
        let Some(rules) = &port.rules else {
            // Those of another client are none of usnet's business on a port without policies.
            let has_own = |lists: &ByDirection<u32>| {
                lists.input.iter().chain(&lists.output).any(|acl| self.found.own.contains_key(acl))
            };
            if lists.is_some_and(has_own) {
                self.changes.ports.push(PortChange { index, lists: None, is_reset: false });
            }
            return;
        };
        let is_in_effect = self.found.in_effect.get(&index) == Some(&[true, true]);
        let own = [Side::Input, Side::Output].map(|side| self.current(index, side));
        if let ([Some(input), Some(output)], true, true) = (own, is_in_effect, port.keeps_any) {
            self.picked.extend([input, output]);
            return;
        }
        let places = [Side::Input, Side::Output].map(|side| self.place(index, side, rules, port.ends_sessions));
        let has_whitelist = self.found.whitelists.get(&index) == Some(&whitelist());
        let existing = places.map(|place| match place {
            Place::Existing(acl) => Some(acl),
            Place::Created(_) => None,
        });
        let are_set = match (existing, lists) {
            ([Some(input), Some(output)], Some(lists)) => lists.input == [input] && lists.output == [output],
            _ => false,
        };
        if !(are_set && is_in_effect && has_whitelist) {
            let is_reset = lists.is_some() && !is_in_effect;
            self.changes.ports.push(PortChange { index, lists: Some(places), is_reset });
        }
    }

    fn place(&mut self, index: u32, side: Side, rules: &PortRules, ends_sessions: bool) -> Place {
        let rules = side.rules(rules);
        let current = self.current(index, side);
        let has_rules = |acl: &u32| self.contents.get(acl) == Some(rules);
        let equal = current
            .filter(has_rules)
            .or_else(|| self.contents.iter().find(|(_, contents)| *contents == rules).map(|(acl, _)| *acl));
        if let Some(acl) = equal {
            self.picked.insert(acl);
            return Place::Existing(acl);
        }
        if let Some(place) = self.changes.created.iter().position(|created| created == rules) {
            return Place::Created(place);
        }
        if let Some(acl) = current.filter(|acl| !ends_sessions && self.may_replace(*acl, rules)) {
            self.contents.insert(acl, rules.clone());
            self.changes.replaced.insert(acl, rules.clone());
            self.picked.insert(acl);
            return Place::Existing(acl);
        }
        self.changes.created.push(rules.clone());
        Place::Created(self.changes.created.len() - 1)
    }

    /// The access list of usnet that a port has, if it has it alone.
    fn current(&self, index: u32, side: Side) -> Option<u32> {
        match side.list(self.found.lists.get(&index)?).as_slice() {
            [acl] if self.found.own.contains_key(acl) => Some(*acl),
            _ => None,
        }
    }

    /// Whether all users of an access list are ports that want these rules in its place, and keep
    /// their sessions.
    fn may_replace(&self, acl: u32, rules: &[AclRule]) -> bool {
        let wants = |index: u32, side: Side| {
            let wanted = self.wanted.get(&index).filter(|wanted| !wanted.ends_sessions);
            wanted.and_then(|wanted| wanted.rules.as_ref()).is_some_and(|wanted| side.rules(wanted) == rules)
        };
        let is_alike = |(index, lists): (&u32, &ByDirection<u32>)| {
            let uses = |side: Side| side.list(lists).contains(&acl);
            [Side::Input, Side::Output].into_iter().all(|side| !uses(side) || wants(*index, side))
        };
        !self.picked.contains(&acl) && self.found.lists.iter().all(is_alike)
    }
}
