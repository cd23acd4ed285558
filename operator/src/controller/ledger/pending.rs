//! What is not yet as it should be. Nothing leaves these lists because it was sent, only because a watch shows that it is there: a write that
//! failed, and one that somebody undid, is made again.

use super::super::changes::Changes;
use super::super::compile::Verdict;
use super::super::compile::definitions::Definitions;
use super::super::inputs::{Inputs, Node, NodeState};
use super::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Keys that a pass has to write something for.
#[derive(Debug, Clone, Default)]
pub(super) struct Pending {
    /// Networks that some node does not have as it should.
    pub(super) networks: BTreeSet<String>,
    /// Networks whose finalizer may have to be added or removed.
    pub(super) finalizers: BTreeSet<String>,
    /// Networks whose definitions are not as they should be.
    pub(super) definitions: BTreeSet<String>,
    /// Networks whose status has to be compared. One that must wait is not among them.
    pub(super) statuses: BTreeSet<String>,
    /// Nodes whose state has to be written whole.
    pub(super) whole: BTreeSet<String>,
    /// Nodes that have a state of a node that left the cluster.
    pub(super) left: BTreeSet<String>,
    /// Node states that were written and not seen since, with uid and generation.
    sent: BTreeMap<String, (String, i64)>,
    /// Nodes whose state the API server does not take as it should be, with its reason.
    refused: BTreeMap<String, String>,
}

impl Pending {
    pub(super) fn look_at_row(&mut self, name: &str, row: &Row) {
        let may_change_finalizer = matches!(row.verdict, Some(Verdict::Starting | Verdict::Deleting(_)));
        set(&mut self.finalizers, name, may_change_finalizer);
        set(&mut self.networks, name, !row.differing().is_empty());
        set(&mut self.statuses, name, true);
    }

    pub(super) fn look_at_definitions(&mut self, name: &str, definitions: &Definitions) {
        set(&mut self.definitions, name, !definitions.missing.is_empty() || !definitions.surplus.is_empty());
        set(&mut self.statuses, name, true);
    }

    pub(super) fn look_at_node(&mut self, inputs: &Inputs, name: &str) {
        let (node, state) = (inputs.nodes.get(name), inputs.states.get(name));
        let is_sound =
            |state: &NodeState, node: &Node| state.is_of(node) && state.networks.is_some() && !state.is_disordered;
        // Of an earlier node of that name: what its agent said goes with it.
        let is_left = |state: &NodeState| node.is_none_or(|node| state.owner.is_some() && !state.is_of(node));
        let is_left = state.is_some_and(is_left);
        let needs_all = node.is_some_and(|node| !state.is_some_and(|state| is_sound(state, node)));
        set(&mut self.whole, name, needs_all && !is_left);
        set(&mut self.left, name, is_left);
        if node.is_none() {
            self.refuse(name, None);
        }
    }

    /// A watch has caught up with what was written.
    pub(super) fn seen(&mut self, inputs: &Inputs, changes: &Changes) {
        for node in changes.states.keys() {
            let is_older = |(uid, generation): &(String, i64)| {
                inputs.states.get(node).is_some_and(|state| state.uid == *uid && state.generation < *generation)
            };
            if !self.sent.get(node).is_some_and(is_older) {
                self.sent.remove(node);
            }
        }
    }

    /// A node state was written. Until it is seen, what is known of it is too old to write to it again.
    pub(super) fn wrote(&mut self, inputs: &Inputs, node: &str, uid: &str, generation: i64) {
        let is_seen = inputs.states.get(node).is_some_and(|state| state.uid == uid && state.generation >= generation);
        if !is_seen {
            self.sent.insert(node.to_owned(), (uid.to_owned(), generation));
        }
    }

    /// The API server does not take the state of this node (a message), or has taken it.
    pub(super) fn refuse(&mut self, node: &str, message: Option<&str>) {
        let before = match message {
            Some(message) => self.refused.insert(node.to_owned(), message.to_owned()),
            None => self.refused.remove(node),
        };
        // Every network that is not there yet says so in its status.
        if before.as_deref() != message {
            self.statuses.extend(self.networks.iter().cloned());
        }
    }

    /// Why the API server does not take the state of this node.
    pub(super) fn refusal(&self, node: &str) -> Option<&str> {
        self.refused.get(node).map(String::as_str)
    }

    /// Whether a node state may be written: it does not have to go first, and what is known of it is not older than our last write.
    pub(super) fn may_write(&self, node: &str) -> bool {
        !self.left.contains(node) && !self.sent.contains_key(node)
    }
}

fn set(keys: &mut BTreeSet<String>, key: &str, is_in: bool) {
    if !is_in {
        keys.remove(key);
    } else if !keys.contains(key) {
        keys.insert(key.to_owned());
    }
}
