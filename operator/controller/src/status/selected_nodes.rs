//! The nodes that a network selects. Many networks have the same selector, or none: each selector
//! is evaluated once.

use crate::cache::objects::Selection;
use crate::cache::{Cache, Node, NodeState, Uplink};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use usnet_crds::node_selection::selects;
use usnet_crds::{EngineKind, ValidUplink};

/// A node with its UserspaceNodeState; none for a new node.
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    pub name: &'a str,
    pub node: &'a Node,
    /// The state that its agent reports; none for a new node.
    pub state: Option<&'a NodeState>,
}

/// The selector, the engine, and without a selector the uplink of a network.
type Key = (Option<String>, EngineKind, Option<String>);

/// All nodes, and the selections evaluated so far.
#[derive(Debug)]
pub struct SelectedNodes<'a> {
    all: Vec<NodeView<'a>>,
    uplinks: &'a BTreeMap<String, Uplink>,
    selected: BTreeMap<Key, Rc<[NodeView<'a>]>>,
}

impl<'a> SelectedNodes<'a> {
    pub fn new(cache: &'a Cache) -> Self {
        let all = cache.nodes_with_states().map(|(name, node, state)| NodeView { name, node, state });
        Self { all: all.collect(), uplinks: &cache.uplinks, selected: BTreeMap::new() }
    }

    /// All nodes, sorted by name.
    pub fn all(&self) -> &[NodeView<'a>] {
        &self.all
    }

    /// The nodes that a compiled network selects, sorted by name.
    pub fn of(&mut self, selection: &Selection) -> Rc<[NodeView<'a>]> {
        // Without a selector the uplink decides.
        let uplink = selection.uplink_name().filter(|_| selection.nodes.is_none());
        let selector = selection.nodes.as_ref().map(ToString::to_string);
        let key = (selector, selection.engine, uplink.map(ToString::to_string));
        let (all, uplink) = (&self.all, self.uplink(selection));
        let selected = || all.iter().filter(|view| view.is_selected(selection, uplink)).copied().collect();
        self.selected.entry(key).or_insert_with(selected).clone()
    }

    /// The uplink of a network, if it exists and is valid.
    pub fn uplink(&self, selection: &Selection) -> Option<&'a ValidUplink> {
        self.uplinks.get(selection.uplink_name()?.as_str())?.spec.as_ref().ok()
    }
}

impl<'a> NodeView<'a> {
    /// Whether the network selects this node: by the labels that its agent knows, once it does.
    pub fn is_selected(&self, selection: &Selection, uplink: Option<&ValidUplink>) -> bool {
        selects(selection.nodes.as_ref(), selection.engine, uplink, &self.node.labels, self.missing())
    }

    /// The engines that the agent of the node never reached.
    pub fn missing(&self) -> &'a BTreeSet<EngineKind> {
        static NONE: BTreeSet<EngineKind> = BTreeSet::new();
        self.state.and_then(|state| state.status.as_ref()).map_or(&NONE, |status| &status.missing)
    }
}
