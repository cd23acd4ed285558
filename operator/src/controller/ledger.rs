//! What was compiled for each network, kept from pass to pass. [`Ledger::update`] looks again only at what [`Changes`] touch: a changed network at
//! all nodes, a changed node or node state at that node alone, and, where several networks want one bridge, all of these together. What has to be
//! written is kept as well, until the watches show that it is there.

mod affected;
mod bridges;
mod found;
mod hand_written;
mod held_changes;
mod pending;
mod row;
mod statuses;
mod writes;

use super::by_name::ByName;
use super::changes::Changes;
use super::compile::claims::Claims;
use super::compile::definitions::{Definitions, wanted_definition, wanted_keys};
use super::compile::{Compiled, Verdict, judge};
#[cfg(test)]
use super::from_nad::FromNad;
use super::inputs::Inputs;
use super::notice::Notice;
use affected::Affected;
use bridges::Bridges;
use found::Found;
use hand_written::HandWritten;
use held_changes::HeldChanges;
use pending::Pending;
pub(super) use row::{Progress, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What was compiled, and what of it is not written yet.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// The nodes of the cluster.
    nodes: BTreeSet<Arc<str>>,
    /// Networks by name; those that are gone stay until no node has them.
    rows: BTreeMap<String, Row>,
    definitions: BTreeMap<String, Definitions>,
    /// Which definitions are ours.
    found: Found,
    /// What those that are not ours ask for.
    hand_written: HandWritten,
    bridges: Bridges,
    pending: Pending,
}

impl Ledger {
    /// Compiles everything, each network against all others.
    pub(super) fn from_scratch(inputs: &Inputs) -> Self {
        let mut ledger = Self::default();
        let affected = ledger.prepare(inputs, &Changes::everything());
        let all: BTreeSet<&str> = affected.networks.iter().map(String::as_str).collect();
        ledger.judge(inputs, &all, Claims::held(inputs, &all));
        ledger.finish(inputs, &affected);
        ledger
    }

    /// Looks again at everything that the changes touch. All changes since the last update have to be among them.
    pub fn update(&mut self, inputs: &Inputs, changes: &Changes) {
        if changes.everything {
            *self = Self::default();
        }
        let affected = self.prepare(inputs, changes);
        let mut open = affected.networks.clone();
        while let Some(name) = open.pop_first() {
            let sharers = self.bridges.sharers(&name);
            open.retain(|name| !sharers.contains(name));
            let sharers: BTreeSet<&str> = sharers.iter().map(String::as_str).collect();
            let claims = if sharers.len() > 1 { Claims::held(inputs, &sharers) } else { Claims::of_one() };
            self.judge(inputs, &sharers, claims);
        }
        self.finish(inputs, &affected);
    }

    /// Takes over which objects there are, and finds what has to be looked at.
    fn prepare(&mut self, inputs: &Inputs, changes: &Changes) -> Affected {
        self.found.update(inputs, changes);
        self.hand_written.update(inputs, changes);
        let none = ByName::default();
        let held = HeldChanges::of(inputs, changes, &none);
        let touched = self.bridges.update(inputs, changes, &held);
        let affected = Affected::of(inputs, changes, &held, self, touched);
        self.take_nodes(inputs, &affected.nodes);
        self.pending.seen(inputs, changes);
        affected
    }

    fn take_nodes(&mut self, inputs: &Inputs, names: &BTreeSet<String>) {
        for name in names {
            if !inputs.nodes.contains_key(name) {
                self.nodes.remove(name.as_str());
            } else if !self.nodes.contains(name.as_str()) {
                self.nodes.insert(Arc::from(name.as_str()));
            }
        }
    }

    /// Judges networks that may share bridges, the oldest first: where two want the same, the older has it.
    fn judge<'a>(&mut self, inputs: &'a Inputs, names: &BTreeSet<&str>, mut claims: Claims<'a>) {
        let known = names.iter().filter_map(|name| inputs.networks.get_key_value(*name));
        let mut by_age: Vec<_> = known.collect();
        by_age.sort_by_key(|(name, network)| (network.created.clone(), *name));
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for (name, network) in by_age {
            let (course, verdict) = judge(inputs, &mut claims, name, network);
            rows.insert(name, Row::new(course, verdict));
        }
        for name in names {
            let mut row = rows.remove(name).unwrap_or_default();
            for node in &self.nodes {
                row.look(inputs, name, node);
            }
            self.put(inputs, name, row);
            self.look_at_definitions(inputs, name);
        }
    }

    /// Looks at single nodes of networks, at definitions and at the node states themselves.
    fn finish(&mut self, inputs: &Inputs, affected: &Affected) {
        for (name, nodes) in &affected.cells {
            let mut row = self.rows.remove(name).unwrap_or_default();
            for node in nodes {
                match self.nodes.get(node.as_str()) {
                    Some(node) => row.look(inputs, name, node),
                    None => row.forget(node),
                }
            }
            self.put(inputs, name, row);
        }
        for name in &affected.definitions {
            self.look_at_definitions(inputs, name);
        }
        self.pending.statuses.extend(affected.statuses.iter().cloned());
        for node in &affected.nodes {
            self.pending.look_at_node(inputs, node);
        }
    }

    fn put(&mut self, inputs: &Inputs, name: &str, row: Row) {
        self.pending.look_at_row(name, &row);
        if row.is_empty() && !inputs.networks.contains_key(name) {
            self.rows.remove(name);
        } else {
            self.rows.insert(name.to_owned(), row);
        }
    }

    fn look_at_definitions(&mut self, inputs: &Inputs, name: &str) {
        let verdict = self.rows.get(name).and_then(|row| row.verdict.as_ref());
        let definitions = Definitions::of(inputs, name, verdict, self.found.of(name));
        self.pending.look_at_definitions(name, &definitions);
        if definitions == Definitions::default() {
            self.definitions.remove(name);
        } else {
            self.definitions.insert(name.to_owned(), definitions);
        }
    }

    /// What people should know of hand-written definitions, all that holds; none when nothing of it was looked at since this was asked last.
    pub fn notices(&mut self) -> Option<Vec<Notice>> {
        self.hand_written.news().map(|found| found.notices.clone())
    }

    /// What follows from hand-written definitions.
    #[cfg(test)]
    pub(super) fn definitions_ask_for(&self) -> &FromNad {
        self.hand_written.found()
    }

    /// All that was compiled, by node.
    pub(super) fn compiled(&self, inputs: &Inputs) -> Compiled {
        let mut compiled = Compiled {
            nodes: inputs.nodes.keys().map(|node| (node.clone(), BTreeMap::new())).collect(),
            ..Compiled::default()
        };
        for (name, row) in &self.rows {
            for (node, network) in row.networks() {
                compiled.nodes.entry(node.to_string()).or_default().insert(name.clone(), network.clone());
            }
            compiled.verdicts.extend(row.verdict.clone().map(|verdict| (name.clone(), verdict)));
            if let (Some(Verdict::Active), Some(network)) = (&row.verdict, inputs.networks.get(name))
                && let Ok(valid) = &network.spec
            {
                let wanted = wanted_definition(network, valid);
                compiled.definitions.extend(wanted_keys(inputs, network, valid).map(|key| (key, wanted.clone())));
            }
        }
        compiled
    }
}
