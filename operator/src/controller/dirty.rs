//! From a change of the cache to what has to be evaluated again. Pure. What is not marked here is what it was: [`super::plan`] holds that by a property test.

use super::cache::feed::Changed;
use super::cache::{Cache, Compiled, DefinitionKey, Namespace, Network, Node, NodeState, NodeStatus};
use super::compile::definitions::wants;
use kube::core::SelectorExt;
use std::collections::BTreeSet;

/// What has to be evaluated again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Networks whose finalizer and compiled network are compared.
    pub networks: BTreeSet<String>,
    /// Networks whose status is compared.
    pub statuses: BTreeSet<String>,
    /// Nodes whose state is compared.
    pub nodes: BTreeSet<String>,
    /// Networks whose definitions are all compared.
    pub definitions_of: BTreeSet<String>,
    /// Single definitions.
    pub definitions: BTreeSet<DefinitionKey>,
    /// What users' definitions ask for.
    pub legacy: bool,
}

impl Dirty {
    /// Everything that is known.
    pub fn everything(cache: &Cache) -> Self {
        let networks: BTreeSet<String> = cache.networks.keys().chain(cache.compiled.keys()).cloned().collect();
        let mut definitions_of = networks.clone();
        definitions_of.extend(cache.definitions.generated_names().map(str::to_owned));
        Self {
            statuses: networks.clone(),
            networks,
            nodes: cache.nodes.keys().chain(cache.states.keys()).cloned().collect(),
            definitions_of,
            definitions: BTreeSet::new(),
            legacy: true,
        }
    }

    /// Whether nothing has to be evaluated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A UserspaceNetwork changed.
    pub fn network(&mut self, cache: &Cache, (name, before): Changed<String, Network>) {
        let now = cache.networks.get(&name);
        self.statuses.insert(name.clone());
        if before.as_ref().map(without_status) != now.map(without_status) {
            self.definitions_of.insert(name.clone());
            self.networks.insert(name);
            self.legacy = true;
        }
    }

    /// A CompiledNetwork changed.
    pub fn compiled(&mut self, (name, _): Changed<String, Compiled>) {
        self.statuses.insert(name.clone());
        self.networks.insert(name);
    }

    /// A Namespace changed.
    pub fn namespace(&mut self, cache: &Cache, (name, before): Changed<String, Namespace>) {
        let now = cache.namespaces.get(&name);
        let (before, nothing) = (before.as_ref(), Namespace::default());
        self.legacy = true;
        for (network, found) in &cache.networks {
            let Ok(valid) = &found.spec else { continue };
            let selects = |namespace: &Namespace| valid.namespaces.matches(&namespace.labels);
            if before.is_some_and(selects) != now.is_some_and(selects) && !valid.namespaces.selects_all() {
                self.networks.insert(network.clone());
                self.statuses.insert(network.clone());
            }
            let has = |namespace: &Namespace| wants(found, valid, &name, namespace);
            let is_deleting = |namespace: Option<&Namespace>| namespace.unwrap_or(&nothing).is_deleting;
            if before.is_some_and(has) != now.is_some_and(has)
                || before.is_some() != now.is_some()
                || is_deleting(before) != is_deleting(now)
            {
                self.definitions.insert(DefinitionKey { namespace: name.clone(), name: network.clone() });
                self.statuses.insert(network.clone());
            }
        }
        // Definitions of networks that are gone can be deleted once there is a namespace of this name.
        if before.is_some() != now.is_some() {
            let orphans = cache.definitions.generated_names().filter(|name| !cache.networks.contains_key(*name));
            let keys = orphans.map(|orphan| DefinitionKey { namespace: name.clone(), name: orphan.to_owned() });
            self.definitions.extend(keys);
        }
    }

    /// A Node changed.
    pub fn node(&mut self, cache: &Cache, (name, _): Changed<String, Node>) {
        self.nodes.insert(name);
        self.all_statuses(cache);
    }

    /// A UserspaceNodeState changed.
    pub fn node_state(&mut self, cache: &Cache, (name, before): Changed<String, NodeState>) {
        let now = cache.states.get(&name);
        let spec = |state: &NodeState| {
            (state.uid.clone(), state.owner.clone(), state.number, state.labels.clone(), state.created.clone())
        };
        let is_same_spec = before.as_ref().map(spec) == now.map(spec);
        if !is_same_spec {
            self.nodes.insert(name);
        }
        let status = |state: Option<&NodeState>| state.and_then(|state| state.status.clone());
        match (status(before.as_ref()), status(now)) {
            (Some(before_status), Some(now_status)) if is_same_spec => {
                let generation = |state: Option<&NodeState>| state.map(|state| state.generation);
                if generation(before.as_ref()) == generation(now) {
                    self.node_status(cache, &before_status, &now_status);
                } else {
                    self.all_statuses(cache);
                }
            }
            (None, None) if is_same_spec => {}
            _ => self.all_statuses(cache),
        }
    }

    fn node_status(&mut self, cache: &Cache, before: &NodeStatus, now: &NodeStatus) {
        let of_node = |status: &NodeStatus| (status.observed_generation, status.missing.clone(), status.down.clone());
        if of_node(before) != of_node(now) {
            return self.all_statuses(cache);
        }
        let (low, high) = (before.through.min(now.through), before.through.max(now.through));
        let reached = cache.compiled.iter().filter(|(_, compiled)| low < compiled.version && compiled.version <= high);
        self.statuses.extend(reached.map(|(name, _)| name.clone()));
        let names = before.reports.keys().chain(now.reports.keys());
        let differs = |name: &&String| before.reports.get(*name) != now.reports.get(*name);
        self.statuses.extend(names.filter(differs).filter(|name| cache.networks.contains_key(*name)).cloned());
    }

    fn all_statuses(&mut self, cache: &Cache) {
        self.statuses.extend(cache.networks.keys().cloned());
    }

    /// A NetworkAttachmentDefinition changed; `is_users` says that what a user wrote did.
    pub fn definition(&mut self, keys: Vec<DefinitionKey>, is_users: bool) {
        self.legacy |= is_users;
        for key in keys {
            self.statuses.insert(key.name.clone());
            self.definitions.insert(key);
        }
    }
}

fn without_status(network: &Network) -> Network {
    Network { status: None, ..network.clone() }
}
