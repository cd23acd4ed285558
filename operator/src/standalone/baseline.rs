//! The baseline of an evaluation of the folder: the last input, and the current spec of the node.
//! Pure.
//!
//! An API server would count the versions of its objects; here each change of a network on the node
//! is a new generation and a new version of it, counted from the last ones. A network that a
//! restart of the agent leaves unchanged keeps its generation and version.

use crate::agent::model::input::{Compiled, Input, PerNode};
use crate::agent::model::spec::NodeSpec;
use crate::agent::selection::per_node::PerNodeNetworks;
use crate::controller::cache::Labels;
use kube::core::Selector;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork, Phase};

/// What an evaluation starts from.
#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    held: Arc<NodeSpec>,
    /// Each network as it was in the last input; before the first one, as it is in the node's spec.
    networks: BTreeMap<NetworkName, Arc<Compiled>>,
    /// The labels of the last input.
    labels: Option<Labels>,
    generation: i64,
    version: u64,
}

impl Baseline {
    /// From the node's spec by its agent's last report, or by its node file, and from the last
    /// input of this run.
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

    /// A network as it is in the node's spec.
    pub(super) fn held(&self, name: &str) -> Option<&NodeNetwork> {
        let name: NetworkName = name.parse().ok()?;
        self.held.network(&name).map(AsRef::as_ref)
    }

    /// The last version of each network.
    pub(super) fn networks(&self) -> impl Iterator<Item = &NodeNetwork> {
        self.networks.values().map(|known| known.network.as_ref())
    }

    /// The last version of a network.
    pub(super) fn network(&self, name: &str) -> Option<&NodeNetwork> {
        let name: NetworkName = name.parse().ok()?;
        self.networks.get(&name).map(|known| known.network.as_ref())
    }

    /// The network as it was.
    pub(super) fn unchanged(&self, name: &NetworkName) -> Option<Arc<Compiled>> {
        self.networks.get(name).cloned()
    }

    /// The network as it was, draining.
    pub(super) fn draining(&self, name: &NetworkName) -> Option<Arc<Compiled>> {
        let known = self.networks.get(name)?;
        if known.network.phase == Phase::Draining {
            return Some(Arc::clone(known));
        }
        let network = NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(&known.network) };
        Some(Arc::new(kept(self.next_version(), Arc::new(network))))
    }

    /// The network with its generation and its version.
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

    /// The generation of an input with these labels.
    pub(super) fn generation(&self, labels: &Labels) -> i64 {
        let has_changed = self.labels.as_ref().is_some_and(|last| last != labels);
        // The node file counts from 1: 0 stands for a node that has no spec yet.
        (self.generation + i64::from(has_changed)).max(1)
    }

    /// The highest version until now.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    const fn next_version(&self) -> u64 {
        self.version + 1
    }

    /// Generation and version of a network that the node could not have. Its content is not stored,
    /// so that it counts as unchanged.
    fn refused(&self, name: &NetworkName) -> Option<(i64, u64)> {
        let refused = self.held.refused.iter().find(|refused| refused.name == *name)?;
        Some((refused.generation.max(1), *self.held.versions.get(name)?))
    }
}

/// Whether both are equal, apart from generation and version. What the node has held since before
/// this run has the part of this node already.
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

/// A network that stays on this node, which an empty selector selects whatever engines it has.
fn kept(version: u64, network: Arc<NodeNetwork>) -> Compiled {
    let selector = Some(Selector::default());
    Compiled { selector, ..Compiled::without_selector(version, String::new(), network) }
}
