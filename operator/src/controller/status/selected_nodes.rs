//! The nodes that a network selects. Many networks have the same selector, or none: each selector
//! is evaluated once.

use crate::controller::cache::objects::Selection;
use crate::controller::cache::{Cache, Labels, Node, NodeState};
use std::collections::BTreeMap;
use std::rc::Rc;
use usnet_crds::EngineKind;
use usnet_crds::node_selection::selects;

/// A node with its UserspaceNodeState; none for a new node.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    /// The name of the node.
    pub name: &'a str,
    /// The Node as last observed.
    pub node: &'a Node,
    /// The state that its agent reports; none for a new node.
    pub state: Option<&'a NodeState>,
}

/// All nodes, and the selections evaluated so far.
#[derive(Debug)]
pub struct SelectedNodes<'a> {
    all: Vec<NodeView<'a>>,
    selected: BTreeMap<(Option<String>, EngineKind), Rc<[NodeView<'a>]>>,
}

impl<'a> SelectedNodes<'a> {
    /// The nodes of this cluster.
    pub fn new(cache: &'a Cache) -> Self {
        let all = cache.nodes_with_states().map(|(name, node, state)| NodeView { name, node, state });
        Self { all: all.collect(), selected: BTreeMap::new() }
    }

    /// All nodes, sorted by name.
    pub fn all(&self) -> &[NodeView<'a>] {
        &self.all
    }

    /// The nodes that a compiled network selects, sorted by name.
    pub fn of(&mut self, selection: &Selection) -> Rc<[NodeView<'a>]> {
        let key = (selection.nodes.as_ref().map(ToString::to_string), selection.engine);
        let all = &self.all;
        let selected = || all.iter().filter(|view| view.is_selected(selection)).copied().collect();
        self.selected.entry(key).or_insert_with(selected).clone()
    }
}

impl NodeView<'_> {
    /// Whether the network selects this node: by the labels that its agent knows, once it does.
    pub fn is_selected(&self, selection: &Selection) -> bool {
        let labels: &Labels = &self.node.labels;
        let nothing = Default::default();
        let missing = self.state.and_then(|state| state.status.as_ref()).map_or(&nothing, |status| &status.missing);
        selects(selection.nodes.as_ref(), selection.engine, labels, missing)
    }
}
