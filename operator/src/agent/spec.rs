//! The desired state of the node and the report of its actual state, independent of the API server:
//! the reconcilers consume the one and produce the other, and tests stand in for the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use usnet_crds::conditions::{ConditionUpdate, READY};
use usnet_crds::node_state::{EngineReport, NetworkReport};
use usnet_crds::{Engine, NetworkName, NodeNetwork};

pub use usnet_dataplane::node_file::RefusedNetwork;

/// The desired state of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// Counts the specs of one run of the agent. 0 is the spec that an earlier run left on disk, which nothing has confirmed yet.
    pub revision: u64,
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The resourceVersion up to which all compiled networks were considered.
    pub through: u64,
    /// The networks of the node, sorted by name.
    pub networks: Vec<Arc<NodeNetwork>>,
    /// The resourceVersions of the compiled networks that `networks` and `refused` were selected from.
    pub versions: BTreeMap<NetworkName, u64>,
    /// The networks that select the node and that it cannot have, sorted by name.
    pub refused: Vec<RefusedNetwork>,
}

impl NodeSpec {
    /// The network of this name.
    pub fn network(&self, name: &NetworkName) -> Option<&Arc<NodeNetwork>> {
        let position = self.networks.binary_search_by(|network| network.name.cmp(name)).ok()?;
        self.networks.get(position)
    }
}

/// The desired state of one engine of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EngineSpec {
    /// The spec of the node.
    pub node: Arc<NodeSpec>,
    /// The networks of this engine.
    pub networks: Vec<Arc<NodeNetwork>>,
    /// Networks of this engine that the node cannot have at all.
    pub refused: Vec<RefusedNetwork>,
    /// The node's other networks.
    pub networks_of_other_engines: BTreeSet<NetworkName>,
}

impl EngineSpec {
    /// The part of one engine.
    pub(super) fn of(node: &Arc<NodeSpec>, engine: Engine) -> Self {
        let (own, other): (Vec<_>, Vec<_>) = node.networks.iter().partition(|network| network.engine == engine);
        // A refused network that the node still has, for now or for its pods, is among its
        // networks.
        let absent = node.refused.iter().filter(|refused| node.network(&refused.name).is_none());
        let (own_refused, other_refused): (Vec<_>, Vec<_>) =
            absent.filter(|refused| refused.engine.is_some()).partition(|refused| refused.engine == Some(engine));
        let networks_of_other_engines = other.into_iter().map(|network| &network.name);
        Self {
            node: Arc::clone(node),
            networks: own.into_iter().cloned().collect(),
            refused: own_refused.into_iter().cloned().collect(),
            networks_of_other_engines: networks_of_other_engines
                .chain(other_refused.into_iter().map(|refused| &refused.name))
                .cloned()
                .collect(),
        }
    }

    /// Whether the engine and its network files have to be the same for both specs.
    pub(super) fn has_same_networks(&self, other: &Self) -> bool {
        self.networks == other.networks && self.refused == other.refused
    }

    /// The generation of one of these networks.
    pub(super) fn generation_of(&self, network: &str) -> Option<i64> {
        let found = self.networks.iter().find(|present| present.name.as_str() == network);
        found.map(|network| network.generation)
    }
}

/// The actual state of the node.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The spec that this report is about, the oldest of those that the engines have worked on;
    /// none before the first.
    pub spec: Option<Arc<NodeSpec>>,
    /// One entry for each network that the node has or should have, by name.
    pub networks: Vec<NetworkReport>,
    /// The engines that the agent is connected to.
    pub engines: Vec<EngineReport>,
    /// The conditions, without their transition times.
    pub findings: Vec<ConditionUpdate>,
}

impl Report {
    /// The revision of the spec that this report is about.
    pub fn revision(&self) -> Option<u64> {
        self.spec.as_ref().map(|spec| spec.revision)
    }

    /// The generation of the node state that this report is about.
    pub fn observed_generation(&self) -> Option<i64> {
        self.spec.as_ref().map(|spec| spec.generation)
    }

    /// The resourceVersion up to which all compiled networks were considered.
    pub fn through(&self) -> Option<u64> {
        self.spec.as_ref().map(|spec| spec.through)
    }

    /// Identifies what users wait for, as long as this process runs: everything but the networks
    /// without pods that come from NADs of the Userspace CNI (Intel). These are recognised by their
    /// names. A user's network that is named after its bridge in the same way is only reported a
    /// second later.
    pub fn awaited(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let spec = self.spec.as_deref();
        let spec_networks = spec.into_iter().flat_map(|spec| &spec.networks);
        let deferrable: BTreeSet<&str> = spec_networks
            .filter(|network| network.name == NetworkName::for_bridge(network.engine, &network.bridge.name))
            .map(|network| network.name.as_str())
            .collect();
        let is_awaited = |name: &str| !deferrable.contains(name);
        spec.map(|spec| spec.generation).hash(&mut hasher);
        let versions = spec.into_iter().flat_map(|spec| &spec.versions);
        versions.filter(|(name, _)| is_awaited(name.as_str())).for_each(|version| version.hash(&mut hasher));
        let networks = self.networks.iter().filter(|report| report.attachments > 0 || is_awaited(&report.name));
        networks.for_each(|report| report.hash(&mut hasher));
        self.engines.hash(&mut hasher);
        // The condition Ready has counts of all networks in its message.
        let findings = self.findings.iter().filter(|finding| finding.kind != READY);
        findings.for_each(|finding| finding.hash(&mut hasher));
        hasher.finish()
    }
}
