//! The last observed state of the cluster, parsed: the only input of the pure steps. Its size does
//! not grow with networks × nodes.

pub mod nads;
mod node_numbers;
pub mod objects;
pub mod reflector;

pub use nads::{Nad, NadKey, NadSet};
pub use node_numbers::NodeNumbers;
pub use objects::{Compiled, Labels, Namespace, Network, Node, NodeState, NodeStatus};

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
    /// NetworkAttachmentDefinitions.
    pub nads: NadSet,
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
