//! The NetworkAttachmentDefinitions that the API server does not accept. Each concerns its
//! namespace alone, and is tried again as any failed write. Pure.

use crate::cache::NadKey;
use crate::compile::nads::Refusing;
use std::collections::BTreeMap;

/// The refusals by network.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_network: BTreeMap<String, Refusing>,
    none: Refusing,
}

impl Refusals {
    /// The namespaces that refuse the NAD of this network.
    pub(super) fn of(&self, network: &str) -> &Refusing {
        self.by_network.get(network).unwrap_or(&self.none)
    }

    /// Records whether a NAD was accepted (none) or what the API server said. True when that is
    /// new.
    pub(super) fn record(&mut self, key: &NadKey, words: Option<String>) -> bool {
        match words {
            Some(words) => {
                let of_network = self.by_network.entry(key.name.clone()).or_default();
                of_network.insert(key.namespace.clone(), words.clone()).as_ref() != Some(&words)
            }
            None => {
                let Some(of_network) = self.by_network.get_mut(&key.name) else { return false };
                let was_refused = of_network.remove(&key.namespace).is_some();
                if of_network.is_empty() {
                    self.by_network.remove(&key.name);
                }
                was_refused
            }
        }
    }

    /// Forgets namespaces that are gone.
    pub(super) fn retain(&mut self, network: &str, exists: impl Fn(&str) -> bool) {
        if let Some(of_network) = self.by_network.get_mut(network) {
            of_network.retain(|namespace, _| exists(namespace));
        }
    }

    /// Forgets a network that is gone.
    pub(super) fn remove(&mut self, network: &str) {
        self.by_network.remove(network);
    }
}
