//! Which definitions of the cluster are ours, by the network whose name they have.

use super::super::changes::Changes;
use super::super::inputs::{Definition, DefinitionKey, Inputs};
use std::collections::{BTreeMap, BTreeSet};

/// Namespaces that have a definition of ours, by network.
#[derive(Debug, Clone, Default)]
pub(super) struct Found(BTreeMap<String, BTreeSet<String>>);

impl Found {
    /// Follows the changes.
    pub(super) fn update(&mut self, inputs: &Inputs, changes: &Changes) {
        let definitions = inputs.definitions.as_ref();
        if changes.everything {
            for (key, definition) in definitions.into_iter().flatten() {
                self.set(key, Some(definition));
            }
        } else {
            for key in changes.definitions.keys() {
                self.set(key, definitions.and_then(|definitions| definitions.get(key)));
            }
        }
    }

    /// Namespaces that have a definition of ours with this name.
    pub(super) fn of(&self, network: &str) -> Option<&BTreeSet<String>> {
        self.0.get(network)
    }

    /// Networks of whose name there are definitions of ours.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    fn set(&mut self, key: &DefinitionKey, now: Option<&Definition>) {
        if now.is_some_and(|definition| definition.owner.is_some()) {
            self.0.entry(key.name.clone()).or_default().insert(key.namespace.clone());
        } else if let Some(namespaces) = self.0.get_mut(&key.name) {
            namespaces.remove(&key.namespace);
            if namespaces.is_empty() {
                self.0.remove(&key.name);
            }
        }
    }
}
