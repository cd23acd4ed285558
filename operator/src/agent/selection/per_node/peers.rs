//! The peers of this node in an overlay: the other nodes that its node selector selects, and
//! without one all nodes. One that lacks the engine is a peer that never sends anything. Each
//! selector is evaluated once.

use crate::agent::model::input::NodeAddresses;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::conditions::message::node::{NO_API_SERVER, NO_UNDERLAY_ADDRESS, NODE_NOT_IN_SLICE, SLICES_UNKNOWN};
use usnet_crds::node_slice::SliceNode;

/// This node and its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peers {
    pub(super) local: IpAddr,
    pub(super) others: Arc<BTreeSet<IpAddr>>,
}

/// The peers by the text of the selector; none selects all nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct PeersOfSelectors {
    nodes: Option<Arc<NodeAddresses>>,
    is_alone: bool,
    known: BTreeMap<Option<String>, Arc<BTreeSet<IpAddr>>>,
    /// Of the nodes before, which are often the same.
    before: BTreeMap<Option<String>, Arc<BTreeSet<IpAddr>>>,
}

impl PeersOfSelectors {
    pub(super) fn update(&mut self, nodes: Option<&Arc<NodeAddresses>>, is_alone: bool) {
        self.is_alone = is_alone;
        let is_same = match (&self.nodes, nodes) {
            (Some(known), Some(nodes)) => Arc::ptr_eq(known, nodes),
            (known, nodes) => known.is_none() && nodes.is_none(),
        };
        if !is_same {
            self.before = std::mem::take(&mut self.known);
            self.nodes = nodes.cloned();
        }
    }

    /// The peers in an overlay with this selector, or what is missing, for users.
    pub(super) fn of(&mut self, selector: Option<&Selector>) -> Result<Peers, &'static str> {
        let missing = if self.is_alone { NO_API_SERVER } else { SLICES_UNKNOWN };
        let nodes = self.nodes.as_ref().ok_or(missing)?;
        let own = nodes.nodes.get(&nodes.own).ok_or(NODE_NOT_IN_SLICE)?;
        let local = own.underlay().ok_or(NO_UNDERLAY_ADDRESS)?;
        let text = selector.map(ToString::to_string);
        if let Some(known) = self.known.get(&text) {
            return Ok(Peers { local, others: Arc::clone(known) });
        }
        let is_selected = |node: &&SliceNode| selector.is_none_or(|selector| selector.matches(&node.labels));
        let selected = nodes.nodes.values().filter(|node| node.name != nodes.own).filter(is_selected);
        let others: BTreeSet<IpAddr> = selected.filter_map(SliceNode::underlay).filter(|it| *it != local).collect();
        let others = match self.before.remove(&text) {
            Some(before) if *before == others => before,
            _ => Arc::new(others),
        };
        self.known.insert(text, Arc::clone(&others));
        Ok(Peers { local, others })
    }
}
