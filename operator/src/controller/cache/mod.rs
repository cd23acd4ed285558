//! The cluster as the controller last saw it, parsed: all that the pure steps look at. Nothing in it grows with networks × nodes.

pub mod definitions;
pub mod feed;
mod numbers;
pub mod objects;

pub use definitions::{Definition, DefinitionKey, Definitions};
pub use numbers::Numbers;
pub use objects::{Compiled, Labels, Namespace, Network, Node, NodeState, NodeStatus};

use std::collections::BTreeMap;

/// The cluster as it was last seen.
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
    /// Which node has which number.
    pub numbers: Numbers,
    /// NetworkAttachmentDefinitions.
    pub definitions: Definitions,
}

impl Cache {
    /// The nodes of the cluster with their states, if they have one that is of this node: what was reported for an earlier node of that name does not
    /// count.
    pub fn nodes_with_states(&self) -> impl Iterator<Item = (&str, &Node, Option<&NodeState>)> {
        self.nodes.iter().map(|(name, node)| {
            let state = self.states.get(name).filter(|state| state.is_of(node));
            (name.as_str(), node, state)
        })
    }
}
