//! From what changed to what has to be looked at again.

use super::super::by_name::ByName;
use super::super::changes::Changes;
use super::super::inputs::{Definition, DefinitionKey, Inputs, Namespace, Network, NodeState};
use super::Ledger;
use super::held_changes::HeldChanges;
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::node_state::NetworkReport;
use usnet_crds::{Engine, NodeNetwork, Phase};

/// What has to be looked at again.
#[derive(Debug, Default)]
pub(super) struct Affected {
    /// Networks that are judged anew, on all nodes.
    pub(super) networks: BTreeSet<String>,
    /// Networks of which only these nodes are looked at.
    pub(super) cells: BTreeMap<String, BTreeSet<String>>,
    /// Networks whose definitions are compared.
    pub(super) definitions: BTreeSet<String>,
    /// Networks whose status is compared.
    pub(super) statuses: BTreeSet<String>,
    /// Nodes that came, went or have another node state.
    pub(super) nodes: BTreeSet<String>,
}

impl Affected {
    /// `touched` are networks with which another came to share a bridge, or no longer does.
    pub(super) fn of(
        inputs: &Inputs,
        changes: &Changes,
        held: &HeldChanges<'_>,
        ledger: &Ledger,
        touched: BTreeSet<String>,
    ) -> Self {
        let mut affected = Self { networks: touched, ..Self::default() };
        if changes.everything {
            affected.everything(inputs, ledger);
            return affected;
        }
        affected.networks(inputs, changes);
        affected.namespaces(inputs, changes);
        affected.definitions.extend(changes.definitions.keys().map(|key| key.name.clone()));
        for name in changes.nodes.keys() {
            affected.nodes.insert(name.clone());
            let held = inputs.states.get(name).into_iter().flat_map(named);
            affected.look_at(name, ledger.rows.keys().map(String::as_str).chain(held));
        }
        for (name, before) in &changes.states {
            affected.nodes.insert(name.clone());
            affected.look_at(name, held.on(name).iter().copied());
            affected.state(name, before.as_ref(), inputs.states.get(name), ledger);
        }
        affected.widen(inputs, ledger);
        affected
    }

    fn everything(&mut self, inputs: &Inputs, ledger: &Ledger) {
        self.networks.extend(inputs.networks.keys().cloned());
        self.networks.extend(inputs.states.values().flat_map(named).map(str::to_owned));
        self.definitions.extend(ledger.found.names().cloned());
        self.nodes.extend(inputs.nodes.keys().chain(inputs.states.keys()).cloned());
    }

    fn networks(&mut self, inputs: &Inputs, changes: &Changes) {
        for (name, before) in &changes.networks {
            let is_only_status = match (before, inputs.networks.get(name)) {
                (Some(before), Some(now)) => is_same_but_for_status(before, now),
                _ => false,
            };
            if is_only_status {
                self.statuses.insert(name.clone());
            } else {
                self.networks.insert(name.clone());
            }
        }
    }

    fn namespaces(&mut self, inputs: &Inputs, changes: &Changes) {
        for (name, before) in &changes.namespaces {
            let now = inputs.namespaces.get(name);
            let is_deleting = |namespace: Option<&Namespace>| namespace.map(|namespace| namespace.is_deleting);
            let stays = is_deleting(before.as_ref()) == is_deleting(now);
            if !stays {
                let within = inputs.definitions.iter().flat_map(|definitions| in_namespace(definitions, name));
                self.definitions.extend(within);
            }
            for (network, valid) in &inputs.networks {
                let Ok(valid) = &valid.spec else { continue };
                let selects = |namespace: &Namespace| valid.namespaces.matches(&namespace.labels);
                let (selected, is_selected) = (before.as_ref().is_some_and(selects), now.is_some_and(selects));
                if selected != is_selected || (is_selected && !stays) {
                    self.networks.insert(network.clone());
                }
            }
        }
    }

    fn state(&mut self, node: &str, before: Option<&NodeState>, now: Option<&NodeState>, ledger: &Ledger) {
        if reach(before) != reach(now) || owner(before) != owner(now) {
            let named = before.into_iter().chain(now).flat_map(named);
            self.look_at(node, ledger.rows.keys().map(String::as_str).chain(named));
            return;
        }
        let none = ByName::default();
        self.look_at(node, reports(before).unwrap_or(&none).differing(reports(now).unwrap_or(&none)));
        if counted(before) != counted(now) {
            let is_leaving = |network: &&Arc<NodeNetwork>| network.phase == Phase::Draining;
            let held = now.and_then(|state| state.networks.as_ref()).into_iter().flat_map(ByName::iter);
            self.look_at(node, held.filter(is_leaving).map(|network| network.name.as_str()));
        }
    }

    fn look_at<'a>(&mut self, node: &str, networks: impl IntoIterator<Item = &'a str>) {
        for network in networks {
            match self.cells.get_mut(network) {
                Some(nodes) => drop(nodes.insert(node.to_owned())),
                None => drop(self.cells.insert(network.to_owned(), BTreeSet::from([node.to_owned()]))),
            }
        }
    }

    /// What happens on one node matters on all of them if the network is being deleted, or shares a bridge with another.
    fn widen(&mut self, inputs: &Inputs, ledger: &Ledger) {
        let is_wide = |name: &String| {
            inputs.networks.get(name).is_some_and(|network| network.is_deleting) || ledger.bridges.is_shared(name)
        };
        self.networks.extend(self.cells.keys().filter(|name| is_wide(name)).cloned());
        self.cells.retain(|name, _| !self.networks.contains(name));
    }
}

/// What the agent of the node says, as far as it matters to every network.
fn reach(state: Option<&NodeState>) -> Option<&BTreeSet<Engine>> {
    state?.status.as_ref().map(|status| &status.missing_engines)
}

/// The node whose state it is: what another one said does not count.
fn owner(state: Option<&NodeState>) -> Option<&String> {
    state?.owner.as_ref()
}

/// The generations that tell whether the agent has seen that a network is leaving.
fn counted(state: Option<&NodeState>) -> Option<(i64, Option<i64>)> {
    let state = state?;
    Some((state.generation, state.status.as_ref().and_then(|status| status.observed_generation)))
}

fn reports(state: Option<&NodeState>) -> Option<&ByName<NetworkReport>> {
    state?.status.as_ref().map(|status| &status.reports)
}

/// The networks that a node state names.
fn named(state: &NodeState) -> impl Iterator<Item = &str> {
    let held = state.networks.iter().flat_map(ByName::names);
    held.chain(state.status.iter().flat_map(|status| status.reports.names()))
}

fn is_same_but_for_status(before: &Network, now: &Network) -> bool {
    let Network {
        uid,
        generation,
        created,
        is_deleting,
        deletion_asked,
        has_finalizer,
        force_delete,
        has_from_nad_label,
        spec,
        status: _,
    } = before;
    (uid, generation, created) == (&now.uid, &now.generation, &now.created)
        && (is_deleting, deletion_asked) == (&now.is_deleting, &now.deletion_asked)
        && (has_finalizer, spec) == (&now.has_finalizer, &now.spec)
        && (force_delete, has_from_nad_label) == (&now.force_delete, &now.has_from_nad_label)
}

/// The names of the definitions in a namespace.
fn in_namespace<'a>(
    definitions: &'a BTreeMap<DefinitionKey, Definition>,
    namespace: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let first = DefinitionKey { namespace: namespace.to_owned(), name: String::new() };
    definitions
        .range(first..)
        .map(|(key, _)| key)
        .take_while(move |key| key.namespace == namespace)
        .map(|key| key.name.clone())
}
