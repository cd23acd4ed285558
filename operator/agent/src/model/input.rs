//! The input of the selection: all compiled networks, and what is known about this node and others.
//! It comes from the API server, or from manifests on a node without one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::{ParseExpressionError, Selector};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::network::ipam::node_prefix::NodePrefix;
use usnet_crds::node_selection::selects;
use usnet_crds::node_slice::SliceNode;
use usnet_crds::{CompiledNetworkSpec, CompiledOverlay, EngineKind, NetworkName, NodeNetwork, UplinkName, ValidUplink};

/// Everything that determines a node's networks. There is no input before both the node state and
/// one complete list of compiled networks were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Input {
    /// The `metadata.generation` of the `UserspaceNodeState`.
    pub generation: i64,
    /// The labels of the Node.
    pub labels: BTreeMap<String, String>,
    /// The number of the node, which determines its part of address ranges.
    pub number: u32,
    /// The nodes between which overlays run; none while they are unknown.
    pub nodes: Option<Arc<NodeAddresses>>,
    /// All uplinks that could be read; none while they are unknown.
    pub uplinks: Option<BTreeMap<UplinkName, Arc<ValidUplink>>>,
    /// Whether there is no API server, and so no knowledge of other nodes.
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
    /// Whether a network selects the node. `missing` are the engines that were never reached on it.
    pub(crate) fn selects(&self, compiled: &Compiled, missing: &BTreeSet<EngineKind>) -> bool {
        let uplink = compiled.uplink_name().and_then(|uplink| self.uplinks.as_ref()?.get(uplink));
        let engine = compiled.network.engine;
        selects(compiled.selector.as_ref(), engine, uplink.map(Arc::as_ref), &self.labels, missing)
    }
}

/// One compiled network.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// The resourceVersion of the CompiledNetwork.
    pub version: u64,
    /// The uid, which distinguishes the network from a later one of the same name.
    pub uid: String,
    /// When the `UserspaceNetwork` was created. The older of two networks gets a contested bridge.
    pub created: Option<Time>,
    /// The selector for nodes; none selects every node that has the engine.
    pub selector: Option<Selector>,
    /// The network for a selected node, without the parts that depend on the node.
    pub network: Arc<NodeNetwork>,
    /// The parts that depend on the node.
    pub per_node: PerNode,
}

/// The parts of a network that differ from node to node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerNode {
    /// The overlay, whose peers and addresses depend on the node.
    pub overlay: Option<CompiledOverlay>,
    /// How address ranges are divided among nodes.
    pub node_prefix: Option<NodePrefix>,
}

/// The nodes of all UserspaceNodeSlices.
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
    /// The resourceVersion of the CompiledNetwork.
    pub version: u64,
    /// A text for users: what is wrong with it.
    pub message: String,
}

impl Compiled {
    /// The uplink that the network needs on each node: the one that it is connected to, or the one
    /// over which its engine sends encapsulated packets.
    pub(crate) fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || self.per_node.overlay.as_ref()?.underlay.as_ref();
        self.network.uplink_name().or_else(underlay)
    }

    /// Converts an object of the API server, whose node selector may be invalid.
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

    /// A network that is the same on every node that has its engine.
    pub fn without_selector(version: u64, uid: String, network: Arc<NodeNetwork>) -> Self {
        Self { version, uid, created: None, selector: None, network, per_node: PerNode::default() }
    }
}
