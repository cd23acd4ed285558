//! What changed since the last pass, so that a pass looks at nothing else.

use super::feed::Before;
use super::inputs::{Definition, DefinitionKey, Namespace, Network, Node, NodeState};

/// The keys that changed, each with what it had at the last pass.
#[derive(Debug, Default)]
pub struct Changes {
    /// Nothing is known of the last pass: everything counts as changed.
    pub everything: bool,
    /// Networks by name.
    pub networks: Before<String, Network>,
    /// Namespaces by name.
    pub namespaces: Before<String, Namespace>,
    /// Nodes by name.
    pub nodes: Before<String, Node>,
    /// Node states by the name of their node.
    pub states: Before<String, NodeState>,
    /// Definitions.
    pub definitions: Before<DefinitionKey, Definition>,
}

impl Changes {
    /// For a first pass.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }
}
