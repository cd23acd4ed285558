//! The cache of all objects, each by its name.

use super::attachments::Attachments;
use super::conflict::Conflicts;
use super::nads::NadSet;
use super::node_numbers::NodeNumbers;
use super::objects::{Compiled, Namespace, Network, Node, NodeSlice, NodeState, Uplink};
use super::overlays::Overlays;
use super::reservations::Reservations;
use super::uplink_use::UplinkUse;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::BTreeMap;

/// The last observed state of the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cache {
    pub networks: BTreeMap<String, Network>,
    pub compiled: BTreeMap<String, Compiled>,
    pub namespaces: BTreeMap<String, Namespace>,
    pub nodes: BTreeMap<String, Node>,
    /// UserspaceNodeStates have the names of their nodes.
    pub states: BTreeMap<String, NodeState>,
    pub node_numbers: NodeNumbers,
    pub slices: BTreeMap<String, NodeSlice>,
    /// The overlays of the networks, as last evaluated.
    pub overlays: Overlays,
    pub uplinks: BTreeMap<String, Uplink>,
    /// Which networks use which uplinks, as last evaluated.
    pub uplink_use: UplinkUse,
    /// The conflicts in routing domains, as last evaluated.
    pub routing_domains: Conflicts,
    pub nads: NadSet,
    pub attachments: Attachments,
    pub reservations: Reservations,
    /// When this installation of usnet was created; none while that is not known.
    pub installed: Option<Time>,
}

impl Cache {
    /// Whether a deletion was requested of an earlier installation, which was removed before it had
    /// ended. Meanwhile nodes did not know of it, and let pods attach.
    pub fn is_of_earlier_installation(&self, deleted: Option<&Time>) -> bool {
        deleted.zip(self.installed.as_ref()).is_some_and(|(deleted, installed)| deleted < installed)
    }

    /// The nodes with their UserspaceNodeStates. The state of an earlier node of the same name is
    /// left out.
    pub fn nodes_with_states(&self) -> impl Iterator<Item = (&str, &Node, Option<&NodeState>)> {
        self.nodes.iter().map(|(name, node)| {
            let state = self.states.get(name).filter(|state| state.is_of(node));
            (name.as_str(), node, state)
        })
    }
}
