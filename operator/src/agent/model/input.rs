//! What the agent selects from: all compiled networks, and what is known of its node and of others.
//! It comes from the API server, or from manifests on a node without one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::{ParseExpressionError, Selector};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::network::ipam::node_prefix::NodePrefix;
use usnet_crds::node_selection::selects;
use usnet_crds::node_slice::SliceNode;
use usnet_crds::{CompiledNetworkSpec, CompiledOverlay, EngineKind, NetworkName, NodeNetwork, UplinkName, ValidUplink};

/// Everything that determines a node's networks. There is none before both the node state and one
/// complete list of compiled networks were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The labels of the Node.
    pub labels: BTreeMap<String, String>,
    /// The number of the node, from which its part of ranges of addresses follows.
    pub number: u32,
    /// The nodes between which overlays run; none while they are not known.
    pub nodes: Option<Arc<NodeAddresses>>,
    /// All uplinks that could be read; none while they are not known.
    pub uplinks: Option<BTreeMap<UplinkName, Arc<ValidUplink>>>,
    /// There is no API server, from which other nodes could be known.
    pub is_alone: bool,
    /// All compiled networks that could be read.
    pub networks: BTreeMap<NetworkName, Arc<Compiled>>,
    /// Compiled networks whose newest version could not be read. Their last readable version, if
    /// there was one, is in `networks`.
    pub unreadable: BTreeMap<NetworkName, Unreadable>,
    /// The resourceVersion up to which this is complete. Versions are compared as numbers.
    pub version: u64,
}

impl Input {
    /// Whether a network selects the node. `missing` are the engines that were never reached.
    pub(crate) fn selects(&self, compiled: &Compiled, missing: &BTreeSet<EngineKind>) -> bool {
        let uplink = compiled.uplink_name().and_then(|uplink| self.uplinks.as_ref()?.get(uplink));
        let engine = compiled.network.engine;
        selects(compiled.selector.as_ref(), (engine, uplink.map(Arc::as_ref)), &self.labels, missing)
    }
}

/// One compiled network.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// Its resourceVersion.
    pub version: u64,
    /// Its uid, which distinguishes it from a later network of the same name.
    pub uid: String,
    /// When its `UserspaceNetwork` was created. The older of two networks gets a contested bridge.
    pub created: Option<Time>,
    /// The nodes that it selects; none selects every node that has the engine.
    pub selector: Option<Selector>,
    /// What a selected node is to have, without what depends on the node.
    pub network: Arc<NodeNetwork>,
    /// What depends on the node.
    pub per_node: PerNode,
}

/// What each node adds to a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerNode {
    /// The peers of an overlay.
    pub overlay: Option<CompiledOverlay>,
    /// Its part of the ranges of addresses.
    pub node_prefix: Option<NodePrefix>,
}

/// The nodes in UserspaceNodeSlices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeAddresses {
    /// The name of this node.
    pub own: String,
    /// All nodes by name, this one included.
    pub nodes: BTreeMap<String, SliceNode>,
}

/// A compiled network that this release cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its resourceVersion.
    pub version: u64,
    /// What is wrong with it, for users.
    pub message: String,
}

impl Compiled {
    /// The uplink that it needs on each node: the one that it is connected to, or that its engine
    /// sends encapsulated packets over.
    pub(crate) fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || self.per_node.overlay.as_ref()?.underlay.as_ref();
        self.network.uplink_name().or_else(underlay)
    }

    /// From the object in the API server.
    ///
    /// # Errors
    /// When its node selector is not valid.
    pub fn new(
        name: NetworkName,
        version: u64,
        uid: String,
        spec: &CompiledNetworkSpec,
    ) -> Result<Self, ParseExpressionError> {
        let selector = spec.node_selector.clone().map(Selector::try_from).transpose()?;
        let per_node = PerNode { overlay: spec.overlay.clone(), node_prefix: spec.node_prefix };
        let network = Arc::new(spec.on_node(name));
        Ok(Self { created: spec.created.clone(), selector, per_node, ..Self::without_selector(version, uid, network) })
    }

    /// A network of every node that has its engine, the same on each.
    pub fn without_selector(version: u64, uid: String, network: Arc<NodeNetwork>) -> Self {
        Self { version, uid, created: None, selector: None, network, per_node: PerNode::default() }
    }
}
