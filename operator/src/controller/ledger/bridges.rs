//! Which networks have to do with which bridges: only those that share one can be in each other's way.

use super::super::by_name::ByName;
use super::super::changes::Changes;
use super::super::inputs::{Inputs, Network, NodeState};
use super::held_changes::HeldChanges;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{Bridge, BridgeName, Engine};

/// A bridge, whatever node it is on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Engine, BridgeName);

impl Key {
    fn new(engine: Engine, bridge: &Bridge) -> Self {
        Self(engine, bridge.name.clone())
    }
}

/// Networks by bridge. A network has to do with the bridge of its spec and with those that nodes hold for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Bridges {
    by_key: BTreeMap<Key, BTreeSet<String>>,
    /// With the number of reasons: one for the spec and one for each node state.
    by_network: BTreeMap<String, BTreeMap<Key, usize>>,
    touched: BTreeSet<String>,
}

impl Bridges {
    /// Follows the changes; gives back the networks that another came to or went from.
    pub(super) fn update(&mut self, inputs: &Inputs, changes: &Changes, held: &HeldChanges<'_>) -> BTreeSet<String> {
        if changes.everything {
            for (name, network) in &inputs.networks {
                self.change_spec(name, None, Some(network));
            }
            for network in inputs.states.values().flat_map(|state| state.networks.iter().flat_map(ByName::iter)) {
                self.change(network.name.as_str(), None, Some(Key::new(network.engine, &network.bridge)));
            }
        } else {
            for (name, before) in &changes.networks {
                self.change_spec(name, before.as_ref(), inputs.networks.get(name));
            }
            for (node, before) in &changes.states {
                let now = inputs.states.get(node);
                for name in held.on(node) {
                    let key =
                        |state: Option<&NodeState>| state?.held(name).map(|held| Key::new(held.engine, &held.bridge));
                    self.change(name, key(before.as_ref()), key(now));
                }
            }
        }
        std::mem::take(&mut self.touched)
    }

    /// The network and all that share a bridge with it, or with one of those.
    pub(super) fn sharers(&self, network: &str) -> BTreeSet<String> {
        let mut sharers = BTreeSet::from([network.to_owned()]);
        let mut open = vec![network];
        while let Some(name) = open.pop() {
            let keys = self.by_network.get(name).into_iter().flat_map(BTreeMap::keys);
            for other in keys.filter_map(|key| self.by_key.get(key)).flatten() {
                if sharers.insert(other.clone()) {
                    open.push(other);
                }
            }
        }
        sharers
    }

    /// Whether the network shares a bridge with another.
    pub(super) fn is_shared(&self, network: &str) -> bool {
        let mut keys = self.by_network.get(network).into_iter().flat_map(BTreeMap::keys);
        keys.any(|key| self.by_key.get(key).is_some_and(|networks| networks.len() > 1))
    }

    fn change_spec(&mut self, name: &str, before: Option<&Network>, now: Option<&Network>) {
        let key = |network: Option<&Network>| {
            let valid = network?.spec.as_ref().ok()?;
            Some(Key::new(valid.engine, &valid.bridge))
        };
        self.change(name, key(before), key(now));
    }

    fn change(&mut self, name: &str, before: Option<Key>, now: Option<Key>) {
        if before == now {
            return;
        }
        if let Some(key) = now {
            let count = self.by_network.entry(name.to_owned()).or_default().entry(key.clone()).or_default();
            *count += 1;
            if *count == 1 {
                let networks = self.by_key.entry(key).or_default();
                networks.insert(name.to_owned());
                self.touched.extend(networks.iter().cloned());
            }
        }
        if let Some(key) = before {
            self.leave(name, &key);
        }
    }

    fn leave(&mut self, name: &str, key: &Key) {
        let Some(keys) = self.by_network.get_mut(name) else { return };
        match keys.get_mut(key) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => drop(keys.remove(key)),
            None => return,
        }
        if keys.contains_key(key) {
            return;
        }
        if keys.is_empty() {
            self.by_network.remove(name);
        }
        if let Some(networks) = self.by_key.get_mut(key) {
            self.touched.extend(networks.iter().cloned());
            networks.remove(name);
            if networks.is_empty() {
                self.by_key.remove(key);
            }
        }
    }
}
