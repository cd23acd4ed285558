//! Selects the networks of the node from all compiled networks and its previous spec. Pure;
//! [`crate::selection::spec_builder`] calls it after each change.
//!
//! - An active network that selects the node is present as it was compiled, with the parts that
//!   depend on the node. If these are unknown, it is refused and keeps its previous form.
//! - A network that is being removed stays, draining, as long as it is in use, and for at least one
//!   spec: its network file is withdrawn before its bridge is removed. Otherwise the plugin could
//!   attach a pod to a bridge that is being deleted.
//! - A network whose uplink selects no NIC of the node is refused. An uplink stays while a network
//!   of the node uses it, also when it was deleted.
//! - No two networks have the same bridge, unless both adopt it and VLANs separate them. The
//!   network that has it keeps it, otherwise the older one gets it; the other is refused.

mod bridges;
mod uplinks;

use crate::model::input::{Compiled, Input};
use crate::model::spec::{NodeSpec, RefusedNetwork};
use crate::selection::per_node::PerNodeNetworks;
use bridges::Contender;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub(crate) use uplinks::awaits_uplink;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::reason::{BRIDGE_CONFLICT, UNREADABLE};
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, Ownership, Phase};

/// The inputs of the selection.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// All compiled networks.
    pub input: &'a Input,
    /// The engines that were never reached on this node.
    pub missing: &'a BTreeSet<EngineKind>,
    /// The previous spec of the node.
    pub previous: &'a NodeSpec,
    /// Networks of `previous` that cannot be removed at once, because they have attachments, or
    /// pods may still be attached to them.
    pub in_use: &'a BTreeSet<NetworkName>,
    /// Networks of `previous` that stay as they are although their compiled network has just
    /// disappeared or cannot be read.
    pub lost: &'a BTreeSet<NetworkName>,
    /// The networks that differ from node to node, in the form of this node.
    pub per_node: &'a PerNodeNetworks,
}

/// A network that selects the node, and its form on this node.
type Selected<'a> = (&'a Compiled, Arc<NodeNetwork>);

/// Returns the next spec of the node, with the revision of the previous one.
pub fn select(facts: Facts<'_>) -> NodeSpec {
    let (selected, unsuitable) = facts.suitable();
    let contenders = selected.iter().map(|(name, (compiled, _))| {
        let previous = facts.previous.network(name).map(AsRef::as_ref);
        let fallback = previous.filter(|_| facts.in_use.contains(*name));
        Contender { created: compiled.created.as_ref(), requested: &compiled.network, previous, fallback }
    });
    let is_selected = |name: &NetworkName| selected.contains_key(name);
    let retained: BTreeMap<&NetworkName, Arc<NodeNetwork>> =
        facts.retained(is_selected, |name| unsuitable.contains_key(name)).collect();
    let owners = bridges::assign(contenders.collect(), retained.values().map(AsRef::as_ref));

    let mut networks: BTreeMap<&NetworkName, Arc<NodeNetwork>> = BTreeMap::new();
    let mut refused = facts.unreadable();
    refused.extend(unsuitable);
    for (name, (compiled, network)) in selected {
        match owners.rival(&compiled.network) {
            Some(owner) => {
                refused.insert(name, conflict(compiled, owner));
                if let Some(previous) = facts.previous.network(name).filter(|_| facts.in_use.contains(name)) {
                    networks.insert(name, draining(previous));
                }
            }
            None => drop(networks.insert(name, network)),
        }
    }
    networks.extend(retained);
    let names = networks.keys().chain(refused.keys());
    let versions = names.filter_map(|name| Some(((*name).clone(), facts.version(name)?))).collect();
    let uplinks = uplinks::select(facts, networks.values());
    let mut spec = NodeSpec {
        revision: facts.previous.revision,
        generation: facts.input.generation,
        through: facts.previous.through,
        networks: networks.into_values().collect(),
        uplinks,
        versions,
        refused: refused.into_values().collect(),
    };
    if facts.is_relevant(&spec) {
        spec.through = facts.input.version;
    }
    spec
}

impl<'a> Facts<'a> {
    fn selects(self, compiled: &Compiled) -> bool {
        self.input.selects(compiled, self.missing)
    }

    /// The active networks that select the node.
    fn selected(self) -> impl Iterator<Item = (&'a NetworkName, &'a Compiled)> {
        let all = self.input.networks.iter().map(|(name, compiled)| (name, compiled.as_ref()));
        all.filter(move |(_, compiled)| compiled.network.phase == Phase::Active && self.selects(compiled))
    }

    /// The active networks that select the node, in their form on this node, and those that it
    /// cannot have.
    fn suitable(self) -> (BTreeMap<&'a NetworkName, Selected<'a>>, BTreeMap<&'a NetworkName, RefusedNetwork>) {
        let (mut selected, mut unsuitable) = (BTreeMap::new(), BTreeMap::new());
        for (name, compiled) in self.selected() {
            let network = self.per_node.network(compiled, self.previous.network(name));
            match network.map_err(|why| why.refused(compiled)).and_then(|network| uplinks::checked(self, network)) {
                Ok(network) => drop(selected.insert(name, (compiled, network))),
                Err(refused) => drop(unsuitable.insert(name, refused)),
            }
        }
        (selected, unsuitable)
    }

    /// The networks that are no longer selected but stay for now.
    fn retained(
        self,
        is_selected: impl Fn(&NetworkName) -> bool,
        is_unsuitable: impl Fn(&NetworkName) -> bool,
    ) -> impl Iterator<Item = (&'a NetworkName, Arc<NodeNetwork>)> {
        let deselected = self.previous.networks.iter().filter(move |previous| !is_selected(&previous.name));
        deselected.filter_map(move |previous| {
            // A node that cannot have the new form of a network keeps the old one, and reports why.
            let is_kept = previous.phase == Phase::Active && is_unsuitable(&previous.name);
            if is_kept || self.lost.contains(&previous.name) {
                Some((&previous.name, Arc::clone(previous)))
            } else if self.in_use.contains(&previous.name) {
                Some((&previous.name, draining(previous)))
            } else {
                None
            }
        })
    }

    /// The unreadable networks whose newest version may select this node.
    fn unreadable(self) -> BTreeMap<&'a NetworkName, RefusedNetwork> {
        let might_select = |name: &NetworkName| match self.input.networks.get(name) {
            Some(known) => self.selects(known) || self.previous.network(name).is_some(),
            None => true,
        };
        let unreadable = self.input.unreadable.iter().filter(|(name, _)| might_select(name));
        let refused = unreadable.map(|(name, unreadable)| {
            let message = message::compiled_network_unreadable(&unreadable.message);
            let previous = self.previous.network(name);
            let (generation, engine) =
                (previous.map_or(0, |previous| previous.generation), previous.map(|previous| previous.engine));
            (name, RefusedNetwork { name: name.clone(), generation, engine, reason: UNREADABLE.to_owned(), message })
        });
        refused.collect()
    }

    /// The last known resourceVersion of a network, even if the network has disappeared.
    fn version(self, name: &NetworkName) -> Option<u64> {
        let unreadable = self.input.unreadable.get(name).map(|unreadable| unreadable.version);
        let known = self.input.networks.get(name).map(|compiled| compiled.version);
        unreadable.or(known).or_else(|| self.previous.versions.get(name).copied())
    }

    /// Whether the node has to report again, because its spec changed, one of its networks was
    /// written again, or resourceVersions went back, as they do when etcd is restored from a
    /// backup.
    fn is_relevant(self, next: &NodeSpec) -> bool {
        let previous = self.previous;
        let is_new = |version: Option<u64>| version.is_some_and(|version| version > previous.through);
        next.generation != previous.generation
            || next.networks != previous.networks
            || next.refused != previous.refused
            || next.uplinks != previous.uplinks
            || next.versions != previous.versions
            || self.input.version < previous.through
            || previous.networks.iter().any(|network| is_new(self.version(&network.name)))
            || self.input.networks.values().any(|compiled| is_new(Some(compiled.version)) && self.selects(compiled))
    }
}

fn draining(previous: &Arc<NodeNetwork>) -> Arc<NodeNetwork> {
    match previous.phase {
        Phase::Draining => Arc::clone(previous),
        Phase::Active => Arc::new(NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(previous) }),
    }
}

fn conflict(compiled: &Compiled, owner: &NetworkName) -> RefusedNetwork {
    let NodeNetwork { name, generation, engine, bridge, .. } = compiled.network.as_ref();
    let is_shared = bridge.ownership == Ownership::Adopted && engine.traits().learns_per_vlan;
    let text = if is_shared { message::adopted_bridge_conflict } else { message::bridge_conflict };
    let message = text(*engine, &bridge.name, owner);
    RefusedNetwork {
        name: name.clone(),
        generation: *generation,
        engine: Some(*engine),
        reason: BRIDGE_CONFLICT.to_owned(),
        message,
    }
}

#[cfg(test)]
mod tests;
