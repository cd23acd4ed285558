//! Which networks the node has: from all compiled networks, and from what it has now. Pure; [`super::spec_builder`] calls it with what changed.
//!
//! - A network that is active and selects the node is there as it was compiled.
//! - A network that has to go stays, draining, for as long as it is in use, and so for one spec at least: its network file is withdrawn before its bridge goes.
//! - No two networks have one bridge. The one that has it keeps it, else the older gets it; the other is refused.

mod bridges;

use super::input::{Compiled, Input};
use super::spec::{NodeSpec, RefusedNetwork};
use bridges::{Bridge, Contender};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::conditions::reason::BRIDGE_CONFLICT;
use usnet_crds::node_selection::selects;
use usnet_crds::{Engine, NetworkName, NodeNetwork, Phase};

/// Reason of a network on a node: the agent cannot read its newest version.
pub const UNREADABLE: &str = "Unreadable";

/// What is selected from, and what the node has.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// All compiled networks.
    pub input: &'a Input,
    /// The engines that were never reached on this node.
    pub missing: &'a BTreeSet<Engine>,
    /// What the node should have had until now.
    pub held: &'a NodeSpec,
    /// Networks of `held` that cannot go at once: they have attachments, or pods could still join.
    pub in_use: &'a BTreeSet<NetworkName>,
    /// Networks of `held` that stay as they are although no compiled network says so: it disappeared only just, or cannot be read.
    pub lost: &'a BTreeSet<NetworkName>,
}

/// The next spec of the node, with the revision of the one before it.
pub fn select(facts: Facts<'_>) -> NodeSpec {
    let wanted: BTreeMap<&NetworkName, &Compiled> = facts.wanted().collect();
    let contenders = wanted.iter().map(|(name, compiled)| {
        let held = facts.held.network(name).map(|held| Bridge::of(held));
        let stays = held.filter(|_| facts.in_use.contains(*name));
        Contender { name, created: compiled.created.as_ref(), wants: Bridge::of(&compiled.network), held, stays }
    });
    let kept: BTreeMap<&NetworkName, Arc<NodeNetwork>> = facts.kept(&wanted).collect();
    let kept_bridges = kept.iter().map(|(name, network)| (Bridge::of(network), *name)).collect();
    let owners = bridges::assign(contenders.collect(), kept_bridges);

    let mut networks: BTreeMap<&NetworkName, Arc<NodeNetwork>> = BTreeMap::new();
    let mut refused = facts.unreadable();
    for (name, compiled) in wanted {
        match owners.get(&Bridge::of(&compiled.network)) {
            Some(owner) if *owner != name => {
                refused.insert(name, conflict(compiled, owner));
                if let Some(held) = facts.held.network(name).filter(|_| facts.in_use.contains(name)) {
                    networks.insert(name, draining(held));
                }
            }
            _ => drop(networks.insert(name, Arc::clone(&compiled.network))),
        }
    }
    networks.extend(kept);
    let names = networks.keys().chain(refused.keys());
    let versions = names.filter_map(|name| Some(((*name).clone(), facts.version(name)?))).collect();
    let mut spec = NodeSpec {
        revision: facts.held.revision,
        generation: facts.input.generation,
        through: facts.held.through,
        networks: networks.into_values().collect(),
        versions,
        refused: refused.into_values().collect(),
    };
    if facts.concern(&spec) {
        spec.through = facts.input.version;
    }
    spec
}

impl<'a> Facts<'a> {
    fn selects(self, compiled: &Compiled) -> bool {
        selects(compiled.selector.as_ref(), compiled.network.engine, &self.input.labels, self.missing)
    }

    /// Active networks that select the node.
    fn wanted(self) -> impl Iterator<Item = (&'a NetworkName, &'a Compiled)> {
        let all = self.input.networks.iter().map(|(name, compiled)| (name, compiled.as_ref()));
        all.filter(move |(_, compiled)| compiled.network.phase == Phase::Active && self.selects(compiled))
    }

    /// Networks that are not wanted any more and stay for now.
    fn kept(
        self,
        wanted: &BTreeMap<&NetworkName, &Compiled>,
    ) -> impl Iterator<Item = (&'a NetworkName, Arc<NodeNetwork>)> {
        let unwanted = self.held.networks.iter().filter(|held| !wanted.contains_key(&held.name));
        unwanted.filter_map(move |held| {
            if self.lost.contains(&held.name) {
                Some((&held.name, Arc::clone(held)))
            } else if self.in_use.contains(&held.name) {
                Some((&held.name, draining(held)))
            } else {
                None
            }
        })
    }

    /// Networks whose newest version might be for this node.
    fn unreadable(self) -> BTreeMap<&'a NetworkName, RefusedNetwork> {
        let might_select = |name: &NetworkName| match self.input.networks.get(name) {
            Some(known) => self.selects(known) || self.held.network(name).is_some(),
            None => true,
        };
        let unreadable = self.input.unreadable.iter().filter(|(name, _)| might_select(name));
        let refused = unreadable.map(|(name, unreadable)| {
            let message = format!(
                "the agent of this node cannot read the compiled network ({}): use the same release of usnet for agents and controller",
                unreadable.message
            );
            let held = self.held.network(name);
            let (generation, engine) = (held.map_or(0, |held| held.generation), held.map(|held| held.engine));
            (name, RefusedNetwork { name: name.clone(), generation, engine, reason: UNREADABLE.to_owned(), message })
        });
        refused.collect()
    }

    /// The resourceVersion of what is known of a network. That of one that disappeared is the last one.
    fn version(self, name: &NetworkName) -> Option<u64> {
        let unreadable = self.input.unreadable.get(name).map(|unreadable| unreadable.version);
        let known = self.input.networks.get(name).map(|compiled| compiled.version);
        unreadable.or(known).or_else(|| self.held.versions.get(name).copied())
    }

    /// Whether the node has to say how far it is: something of it changed, a network of it was written again, or resourceVersions went back, as they do when
    /// etcd is restored from a backup.
    fn concern(self, next: &NodeSpec) -> bool {
        let held = self.held;
        let is_new = |version: Option<u64>| version.is_some_and(|version| version > held.through);
        next.generation != held.generation
            || next.networks != held.networks
            || next.refused != held.refused
            || next.versions != held.versions
            || self.input.version < held.through
            || held.networks.iter().any(|network| is_new(self.version(&network.name)))
            || self.input.networks.values().any(|compiled| is_new(Some(compiled.version)) && self.selects(compiled))
    }
}

fn draining(held: &Arc<NodeNetwork>) -> Arc<NodeNetwork> {
    match held.phase {
        Phase::Draining => Arc::clone(held),
        Phase::Active => Arc::new(NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(held) }),
    }
}

fn conflict(compiled: &Compiled, owner: &NetworkName) -> RefusedNetwork {
    let NodeNetwork { name, generation, engine, bridge, .. } = compiled.network.as_ref();
    let (field, kind) = match engine {
        Engine::OpenVswitch => ("spec.bridge.name", "bridge"),
        Engine::Vpp => ("spec.bridge.id", "bridge domain"),
    };
    let message = format!(
        "{field}: {kind} {} already belongs to network {owner}: choose another, or delete one of the two networks",
        bridge.name
    );
    RefusedNetwork {
        name: name.clone(),
        generation: *generation,
        engine: Some(*engine),
        reason: BRIDGE_CONFLICT.to_owned(),
        message,
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
