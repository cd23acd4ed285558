//! What follows from hand-written definitions. All of them are looked at together, but only when one of them, a network or a namespace changed.

use super::super::changes::Changes;
use super::super::from_nad::{FromNad, from_nad};
use super::super::inputs::{Definition, DefinitionKey, Inputs, Network};
use std::collections::BTreeSet;
use usnet_crds::validate::ValidNetwork;

/// The definitions that ask for something of ours, and what follows from them.
#[derive(Debug, Clone, Default)]
pub(super) struct HandWritten {
    keys: BTreeSet<DefinitionKey>,
    found: FromNad,
    /// Nobody has asked since it was found.
    is_news: bool,
}

impl HandWritten {
    /// Follows the changes.
    pub(super) fn update(&mut self, inputs: &Inputs, changes: &Changes) {
        let asks_otherwise = self.follow(inputs, changes);
        let network_matters = || {
            let mut networks = changes.networks.iter();
            networks.any(|(name, before)| what_matters(before.as_ref()) != what_matters(inputs.networks.get(name)))
        };
        if changes.everything || asks_otherwise || !changes.namespaces.is_empty() || network_matters() {
            self.found = from_nad(inputs, &self.keys);
            self.is_news = true;
        }
    }

    /// What follows.
    pub(super) fn found(&self) -> &FromNad {
        &self.found
    }

    /// The same, once after each time that it was looked at again.
    pub(super) fn news(&mut self) -> Option<&FromNad> {
        std::mem::take(&mut self.is_news).then_some(&self.found)
    }

    /// Takes over which definitions ask for something; true when one does, or did, that changed.
    fn follow(&mut self, inputs: &Inputs, changes: &Changes) -> bool {
        let definitions = inputs.definitions.as_ref();
        if changes.everything {
            let all = definitions.into_iter().flatten();
            self.keys = all.filter(|(_, definition)| asks(definition)).map(|(key, _)| key.clone()).collect();
        }
        let mut is_touched = false;
        for (key, before) in &changes.definitions {
            let now = definitions.and_then(|definitions| definitions.get(key));
            if now.is_some_and(asks) {
                self.keys.insert(key.clone());
                is_touched = true;
            } else {
                self.keys.remove(key);
                is_touched |= before.as_ref().is_some_and(asks);
            }
        }
        is_touched
    }
}

fn asks(definition: &Definition) -> bool {
    definition.form.is_some()
}

/// What definitions have to do with of a network.
fn what_matters(network: Option<&Network>) -> Option<(&str, bool, bool, &Result<ValidNetwork, String>)> {
    network.map(|network| (network.uid.as_str(), network.is_deleting, network.has_from_nad_label, &network.spec))
}
