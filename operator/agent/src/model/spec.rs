//! The desired state of the node and of one engine, independent of the API server. The reconcilers
//! consume it; tests stand in for the API server.

use super::file_networks;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, NodeUplink, UplinkName};

pub use usnet_dataplane::node_file::RefusedNetwork;

/// The desired state of the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// Counts the specs of one run of the agent. 0 is the spec that an earlier run left on disk,
    /// which the API server has not confirmed yet.
    pub revision: u64,
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The resourceVersion up to which all compiled networks were considered.
    pub through: u64,
    pub networks: Vec<Arc<NodeNetwork>>,
    /// The uplinks that select the node, and those that its networks still use.
    pub uplinks: BTreeMap<UplinkName, Arc<NodeUplink>>,
    /// The resourceVersions of the compiled networks that `networks` and `refused` were selected
    /// from.
    pub versions: BTreeMap<NetworkName, u64>,
    /// The networks that select the node and cannot be applied there, sorted by name.
    pub refused: Vec<RefusedNetwork>,
}

impl NodeSpec {
    pub fn network(&self, name: &NetworkName) -> Option<&Arc<NodeNetwork>> {
        let position = self.networks.binary_search_by(|network| network.name.cmp(name)).ok()?;
        self.networks.get(position)
    }

    /// Whether a file of the node defined this network.
    pub(crate) fn is_from_file(&self, network: &NetworkName) -> bool {
        self.versions.get(network) == Some(&file_networks::VERSION)
    }
}

/// The desired state of one engine of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineSpec {
    /// The spec of the node.
    pub node: Arc<NodeSpec>,
    pub engine: EngineKind,
    pub networks: Vec<Arc<NodeNetwork>>,
    pub uplinks: BTreeMap<UplinkName, Arc<NodeUplink>>,
    /// Uplinks of other engines whose NICs this engine may not use. Only VPP has any: those of Open
    /// vSwitch that have networks.
    pub other_uplinks: Vec<Arc<NodeUplink>>,
    /// Networks of this engine that select the node and cannot be applied there.
    pub refused: Vec<RefusedNetwork>,
    /// The node's other networks: their network files belong to the reconcilers of other engines.
    pub networks_of_other_engines: BTreeSet<NetworkName>,
}

/// The uplinks of other engines that come first. If uplinks of both engines request a NIC, Open
/// vSwitch gets it, because VPP would set it down.
fn other_uplinks(node: &NodeSpec, engine: EngineKind) -> Vec<Arc<NodeUplink>> {
    let has_networks =
        |uplink: &NodeUplink| node.networks.iter().any(|network| network.uplink_name() == Some(&uplink.name));
    let is_first = |uplink: &&Arc<NodeUplink>| {
        (engine, uplink.engine) == (EngineKind::Vpp, EngineKind::OpenVswitch) && has_networks(uplink.as_ref())
    };
    node.uplinks.values().filter(is_first).cloned().collect()
}

/// How a spec differs from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecChange {
    /// The specs are equal.
    None,
    /// Only generations and versions differ: this engine has nothing to do.
    MetadataOnly,
    /// The desired state of the engine or of its network files differs.
    Networks,
}

impl EngineSpec {
    /// Returns the part of one engine.
    pub(crate) fn of(node: &Arc<NodeSpec>, engine: EngineKind) -> Self {
        let (own, other): (Vec<_>, Vec<_>) = node.networks.iter().partition(|network| network.engine == engine);
        // A refused network that is still applied in its previous form is among the networks.
        let absent = node.refused.iter().filter(|refused| node.network(&refused.name).is_none());
        let (own_refused, other_refused): (Vec<_>, Vec<_>) =
            absent.filter(|refused| refused.engine.is_some()).partition(|refused| refused.engine == Some(engine));
        let networks_of_other_engines = other.into_iter().map(|network| &network.name);
        let uplinks = node.uplinks.iter().filter(|(_, uplink)| uplink.engine == engine);
        Self {
            node: Arc::clone(node),
            engine,
            uplinks: uplinks.map(|(name, uplink)| (name.clone(), Arc::clone(uplink))).collect(),
            other_uplinks: other_uplinks(node, engine),
            networks: own.into_iter().cloned().collect(),
            refused: own_refused.into_iter().cloned().collect(),
            networks_of_other_engines: networks_of_other_engines
                .chain(other_refused.into_iter().map(|refused| &refused.name))
                .cloned()
                .collect(),
        }
    }

    pub(crate) fn change_since(&self, last: &Self) -> SpecChange {
        let is_same = self.networks == last.networks
            && self.uplinks == last.uplinks
            && self.other_uplinks == last.other_uplinks
            && self.refused == last.refused;
        if !is_same {
            SpecChange::Networks
        } else if self.node != last.node {
            SpecChange::MetadataOnly
        } else {
            SpecChange::None
        }
    }

    pub(crate) fn generation_of(&self, network: &str) -> Option<i64> {
        self.network(network).map(|network| network.generation)
    }

    pub(crate) fn network(&self, name: &str) -> Option<&NodeNetwork> {
        let position = self.networks.binary_search_by(|present| present.name.as_str().cmp(name)).ok()?;
        self.networks.get(position).map(AsRef::as_ref)
    }
}
