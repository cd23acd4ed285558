//! The NADs that remain to be compared with what is desired. There may be a million of them, so
//! they are compared when there is capacity for a write, and not queued as writes.

use crate::cache::nads::Availability;
use crate::cache::{Cache, NadKey};
use crate::compile::nads;
use crate::write::guards::Guards;
use crate::write::{Target, Write};
use std::collections::{BTreeMap, BTreeSet};

/// Single NADs, and networks whose NADs are all compared.
#[derive(Debug, Default)]
pub(super) struct NadScans {
    single: BTreeSet<NadKey>,
    /// Networks whose NADs are being compared, namespace by namespace, with the last namespace
    /// done.
    networks: BTreeMap<String, Option<String>>,
    /// The network whose NAD was written last: networks are served round-robin, so that one with
    /// many namespaces does not delay the others.
    last_network: Option<String>,
}

impl NadScans {
    /// Marks a single NAD.
    pub(super) fn mark(&mut self, key: NadKey) {
        self.single.insert(key);
    }

    /// Marks all NADs of a network. A scan in progress starts again.
    pub(super) fn mark_network(&mut self, name: String) {
        self.networks.insert(name, None);
    }

    /// Whether nothing remains to be compared.
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.single.is_empty()
    }

    /// The next write: single NADs first, which are few and follow a change, then one network after
    /// the other. None while NADs cannot be read. `deletable`: networks whose NADs may be deleted.
    pub(super) fn next_write(&mut self, cache: &Cache, guards: &Guards, deletable: &BTreeSet<String>) -> Option<Write> {
        if cache.nads.availability != Availability::Known {
            return None;
        }
        while let Some(key) = self.single.pop_first() {
            // A blocked one is marked again when its guard expires.
            if guards.is_blocked(&Target::Nad(key.clone())) {
                continue;
            }
            let may_delete = deletable.contains(&key.name);
            if let Some(write) = nads::write(cache, &key.name, &key.namespace, may_delete) {
                return Some(write);
            }
        }
        while let Some(name) = self.next_network() {
            let after = self.networks.get(&name).cloned().flatten();
            let is_busy = |namespace: &str| {
                let key = NadKey { namespace: namespace.to_owned(), name: name.clone() };
                guards.is_blocked(&Target::Nad(key))
            };
            let may_delete = deletable.contains(&name);
            match nads::next_write(cache, &name, after.as_deref(), may_delete, is_busy) {
                Some((namespace, write)) => {
                    self.networks.insert(name.clone(), Some(namespace));
                    self.last_network = Some(name);
                    return Some(write);
                }
                None => drop(self.networks.remove(&name)),
            }
        }
        None
    }

    fn next_network(&self) -> Option<String> {
        use std::ops::Bound::{Excluded, Unbounded};
        let last = self.last_network.as_deref().map_or(Unbounded, Excluded);
        let next = self.networks.range::<str, _>((last, Unbounded)).next();
        next.or_else(|| self.networks.first_key_value()).map(|(name, _)| name.clone())
    }
}
