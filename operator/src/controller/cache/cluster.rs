//! The cache as a whole.

use super::attachments::Attachments;
use super::nads::NadSet;
use super::node_numbers::NodeNumbers;
use super::objects::{Compiled, Namespace, Network, Node, NodeSlice, NodeState, Uplink};
use super::overlays::Overlays;
use super::routing_domains::RoutingDomains;
use super::uplink_use::UplinkUse;
use std::collections::BTreeMap;

/// The last observed state of the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cache {
    /// All UserspaceNetworks by name.
    pub networks: BTreeMap<String, Network>,
    /// All CompiledNetworks by name.
    pub compiled: BTreeMap<String, Compiled>,
    /// All Namespaces by name.
    pub namespaces: BTreeMap<String, Namespace>,
    /// All Nodes by name.
    pub nodes: BTreeMap<String, Node>,
    /// All UserspaceNodeStates by the name of their node.
    pub states: BTreeMap<String, NodeState>,
    /// The numbers of nodes.
    pub node_numbers: NodeNumbers,
    /// All UserspaceNodeSlices by name.
    pub slices: BTreeMap<String, NodeSlice>,
    /// The overlays of the networks, as last evaluated.
    pub overlays: Overlays,
    /// All UserspaceUplinks by name.
    pub uplinks: BTreeMap<String, Uplink>,
    /// Which networks use them, as last evaluated.
    pub uplink_use: UplinkUse,
    /// The conflicts in routing domains, as last evaluated.
    pub routing_domains: RoutingDomains,
    /// NetworkAttachmentDefinitions.
    pub nads: NadSet,
    /// UserspaceAttachments.
    pub attachments: Attachments,
}

impl Cache {
    /// The nodes with their UserspaceNodeStates. The state of an earlier node of the same name is
    /// left out.
    pub fn nodes_with_states(&self) -> impl Iterator<Item = (&str, &Node, Option<&NodeState>)> {
        self.nodes.iter().map(|(name, node)| {
            let state = self.states.get(name).filter(|state| state.is_of(node));
            (name.as_str(), node, state)
        })
    }
}
