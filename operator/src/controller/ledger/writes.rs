//! What has to be written so that the cluster looks as compiled. Nothing is written that is there already.

use super::super::compile::Verdict;
use super::super::compile::definitions::wanted_definition;
use super::super::diff::{Edit, Write};
use super::super::inputs::{DefinitionKey, Inputs};
use super::Ledger;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeMap;

/// Beyond so many edits a node state is written whole. The API server takes 10,000 in one patch.
const EDITS_MAX: usize = 2_000;

impl Ledger {
    /// All writes that are missing, statuses last.
    pub fn writes(&mut self, inputs: &Inputs, now: &Time) -> Vec<Write> {
        let mut writes: Vec<Write> =
            self.pending.finalizers.iter().filter_map(|name| self.finalizer(inputs, name)).collect();
        writes.extend(self.node_states(inputs));
        writes.extend(self.definitions(inputs));
        writes.extend(self.hand_written.found().writes.iter().cloned());
        writes.extend(self.statuses(inputs, now));
        writes
    }

    /// Takes in that a node state was written, as the object with this uid, and what generation it has since.
    pub fn wrote(&mut self, inputs: &Inputs, node: &str, uid: &str, generation: i64) {
        self.pending.refuse(node, None);
        self.pending.wrote(inputs, node, uid, generation);
    }

    /// Takes in that a node state is not as its edits took it to be: it is written whole.
    pub fn is_stale(&mut self, node: &str) {
        self.pending.whole.insert(node.to_owned());
    }

    /// Takes in why the API server does not take a node state. It is tried again, and networks that wait for it say why.
    pub fn is_refused(&mut self, node: &str, message: &str) {
        self.pending.refuse(node, Some(message));
    }

    fn finalizer(&self, inputs: &Inputs, name: &str) -> Option<Write> {
        let network = inputs.networks.get(name)?;
        let has_definitions = || self.definitions.get(name).is_some_and(|definitions| definitions.has_ours);
        let present = match &self.rows.get(name)?.verdict {
            Some(Verdict::Starting) => true,
            Some(Verdict::Deleting(remains)) if remains.let_go(name) && !has_definitions() => false,
            _ => return None,
        };
        Some(Write::Finalizer { network: name.to_owned(), uid: network.uid.clone(), present })
    }

    fn node_states(&self, inputs: &Inputs) -> Vec<Write> {
        let mut differing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut near = 0;
        for name in &self.pending.networks {
            for node in self.rows.get(name).into_iter().flat_map(|row| row.differing()) {
                differing.entry(node).or_default().push(name);
            }
        }
        let whole = self.pending.whole.iter().map(String::as_str);
        differing.extend(whole.map(|node| (node, Vec::new())));
        let may_write = differing.into_iter().filter(|(node, _)| self.pending.may_write(node));
        let written = may_write.filter_map(|(node, names)| self.node_state(inputs, node, &names, &mut near));
        // A state of an earlier node of that name has to go before there is one of this node.
        let left = self.pending.left.iter().map(|node| Write::DeleteNodeState { node: node.clone() });
        written.chain(left).collect()
    }

    /// The write for one node: what differs, or everything.
    fn node_state(&self, inputs: &Inputs, node: &str, differing: &[&str], near: &mut usize) -> Option<Write> {
        let facts = inputs.nodes.get(node)?;
        let edits = inputs.states.get(node).filter(|_| !self.pending.whole.contains(node)).and_then(|state| {
            let networks = state.networks.as_ref().filter(|_| differing.len() <= EDITS_MAX)?;
            // From the end, so that no edit moves what a later one speaks of.
            let edits = differing.iter().rev().filter_map(|name| {
                match (networks.place_near(name, near), self.rows.get(*name).and_then(|row| row.on(node))) {
                    (Ok(index), Some(wanted)) => Some(Edit::Replace(index, wanted.clone())),
                    (Err(index), Some(wanted)) => Some(Edit::Insert(index, wanted.clone())),
                    (Ok(index), None) => Some(Edit::Remove(index)),
                    (Err(_), None) => None,
                }
            });
            let (uid, generation) = (state.uid.clone(), state.generation);
            Some(Write::EditNodeState { node: node.to_owned(), uid, generation, edits: edits.collect() })
        });
        let whole = || Write::NodeState {
            node: node.to_owned(),
            owner: facts.uid.clone(),
            networks: self.rows.values().filter_map(|row| row.on(node)).cloned().collect(),
        };
        Some(edits.unwrap_or_else(whole))
    }

    fn definitions(&self, inputs: &Inputs) -> Vec<Write> {
        let (mut missing, mut surplus) = (Vec::new(), Vec::new());
        for name in &self.pending.definitions {
            let Some(definitions) = self.definitions.get(name) else { continue };
            let key = |namespace: &String| DefinitionKey { namespace: namespace.clone(), name: name.clone() };
            if let Some(network) = inputs.networks.get(name)
                && let Ok(valid) = &network.spec
            {
                let wanted = wanted_definition(network, valid);
                let write = |namespace| Write::Definition { key: key(namespace), wanted: wanted.clone() };
                missing.extend(definitions.missing.iter().map(write));
            }
            let delete =
                |(namespace, uid): &(String, String)| Write::DeleteDefinition { key: key(namespace), uid: uid.clone() };
            surplus.extend(definitions.surplus.iter().map(delete));
        }
        missing.append(&mut surplus);
        missing
    }
}
