//! The baseline of an evaluation of the folder: the last input, and the current spec of the node.
//! Pure.
//!
//! An API server counts the versions of its objects. Here each change of a network increments its
//! generation and version. A network that is unchanged after a restart of the agent keeps both.

use kube::core::Selector;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_agent::model::input::{Compiled, Input, PerNode};
use usnet_agent::model::spec::NodeSpec;
use usnet_agent::selection::per_node::PerNodeNetworks;
use usnet_controller::cache::Labels;
use usnet_crds::{NetworkName, NodeNetwork, Phase};

#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    held: Arc<NodeSpec>,
    /// Each network as in the last input; before the first input, as in the node's spec.
    networks: BTreeMap<NetworkName, Arc<Compiled>>,
    /// The labels of the last input.
    labels: Option<Labels>,
    generation: i64,
    version: u64,
}

impl Baseline {
    /// Creates the baseline from the spec of the node (in the last report of its agent, or in its
    /// node file) and the last input of this run.
    pub(super) fn new(held: Option<&Arc<NodeSpec>>, last: Option<&Input>) -> Self {
        let held = held.cloned().unwrap_or_default();
        let version = held.versions.values().copied().chain([held.through, last.map_or(0, |last| last.version)]).max();
        let mut networks: BTreeMap<_, _> =
            held.networks.iter().map(|network| (network.name.clone(), Arc::new(of_held(&held, network)))).collect();
        // A network that was draining and is no longer on the node is dropped.
        let known = last.iter().flat_map(|last| &last.networks);
        let known = known.filter(|(name, known)| known.network.phase == Phase::Active || networks.contains_key(*name));
        let known: Vec<_> = known.map(|(name, known)| (name.clone(), Arc::clone(known))).collect();
        networks.extend(known);
        Self {
            networks,
            labels: last.map(|last| last.labels.clone()),
            generation: last.map_or(held.generation, |last| last.generation),
            version: version.unwrap_or_default(),
            held,
        }
    }

    /// Returns a network as in the node's spec.
    pub(super) fn held(&self, name: &str) -> Option<&NodeNetwork> {
        let name: NetworkName = name.parse().ok()?;
        self.held.network(&name).map(AsRef::as_ref)
    }

    pub(super) fn networks(&self) -> impl Iterator<Item = &NodeNetwork> {
        self.networks.values().map(|known| known.network.as_ref())
    }

    pub(super) fn network(&self, name: &str) -> Option<&NodeNetwork> {
        let name: NetworkName = name.parse().ok()?;
        self.networks.get(&name).map(|known| known.network.as_ref())
    }

    /// Returns the network unchanged.
    pub(super) fn unchanged(&self, name: &NetworkName) -> Option<Arc<Compiled>> {
        self.networks.get(name).cloned()
    }

    /// Returns the network as draining, and otherwise unchanged.
    pub(super) fn draining(&self, name: &NetworkName) -> Option<Arc<Compiled>> {
        let known = self.networks.get(name)?;
        if known.network.phase == Phase::Draining {
            return Some(Arc::clone(known));
        }
        let network = NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(&known.network) };
        Some(Arc::new(kept(self.next_version(), Arc::new(network))))
    }

    /// Returns the network with its generation and version.
    pub(super) fn numbered(&self, compiled: Compiled) -> Arc<Compiled> {
        let known = self.networks.get(&compiled.network.name);
        let (generation, version) = match known {
            Some(known) if is_same(known, &compiled) => (known.network.generation, known.version),
            Some(known) => (known.network.generation + 1, self.next_version()),
            None => self.refused(&compiled.network.name).unwrap_or((1, self.next_version())),
        };
        let network = Arc::new(NodeNetwork { generation, ..Arc::unwrap_or_clone(compiled.network) });
        Arc::new(Compiled { version, network, ..compiled })
    }

    /// Returns the generation of an input with these labels.
    pub(super) fn generation(&self, labels: &Labels) -> i64 {
        let has_changed = self.labels.as_ref().is_some_and(|last| last != labels);
        // The node file counts from 1: 0 means that the node has no spec yet.
        (self.generation + i64::from(has_changed)).max(1)
    }

    /// The highest version so far.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    const fn next_version(&self) -> u64 {
        self.version + 1
    }

    /// Returns the generation and version of a network that the node could not have. Its content is
    /// not stored, so that it counts as unchanged.
    fn refused(&self, name: &NetworkName) -> Option<(i64, u64)> {
        let refused = self.held.refused.iter().find(|refused| refused.name == *name)?;
        Some((refused.generation.max(1), *self.held.versions.get(name)?))
    }
}

/// Whether both are equal, apart from generation and version. A network from the node's spec
/// already contains the parts that depend on the node.
fn is_same(known: &Compiled, new: &Compiled) -> bool {
    let is_equal = |network: &NodeNetwork| {
        *known.network == NodeNetwork { generation: known.network.generation, ..network.clone() }
    };
    let per_node = || {
        let networks = [(new.network.name.clone(), Arc::new(new.clone()))].into();
        let input = Input { networks, ..Input::default() };
        PerNodeNetworks::of(&input).network(new, Some(&known.network)).is_ok_and(|network| is_equal(&network))
    };
    let is_held = known.per_node == PerNode::default() && new.per_node != PerNode::default();
    if is_held { per_node() } else { known.per_node == new.per_node && is_equal(&new.network) }
}

fn of_held(held: &NodeSpec, network: &Arc<NodeNetwork>) -> Compiled {
    let version = held.versions.get(&network.name).copied().unwrap_or(held.through);
    kept(version, Arc::clone(network))
}

/// A network that stays on this node: its empty selector selects the node independently of its
/// engines.
fn kept(version: u64, network: Arc<NodeNetwork>) -> Compiled {
    let selector = Some(Selector::default());
    Compiled { selector, ..Compiled::without_selector(version, String::new(), network) }
}
