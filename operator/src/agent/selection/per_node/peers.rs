//! The peers of this node in a segment: the other nodes that a network of the segment selects, and
//! without a node selector all nodes. One that lacks the engine is a peer that never sends
//! anything. Each set of selectors is evaluated once.

use crate::agent::model::input::NodeAddresses;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::IpFamily;
use usnet_crds::conditions::message::node::{NO_API_SERVER, NODE_NOT_IN_SLICE, SLICES_UNKNOWN, no_underlay_address};
use usnet_crds::node_slice::SliceNode;

/// This node and its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peers {
    pub(super) local: IpAddr,
    pub(super) others: Arc<BTreeSet<IpAddr>>,
}

/// The nodes of a segment, by the selectors of its networks.
#[derive(Debug, Clone, Default)]
pub(super) enum Members<'a> {
    /// Those that one of these selects.
    Selected(BTreeMap<String, &'a Selector>),
    /// All nodes.
    #[default]
    All,
}

impl<'a> Members<'a> {
    /// Those of one network.
    pub(super) fn of(selector: Option<&'a Selector>) -> Self {
        selector.map_or(Self::All, |selector| Self::Selected([(selector.to_string(), selector)].into()))
    }

    /// With those of another network.
    pub(super) fn add(&mut self, other: Self) {
        match (self, other) {
            (Self::All, _) => {}
            (own, Self::All) => *own = Self::All,
            (Self::Selected(own), Self::Selected(other)) => own.extend(other),
        }
    }

    fn contains(&self, node: &SliceNode) -> bool {
        match self {
            Self::All => true,
            Self::Selected(selectors) => selectors.values().any(|selector| selector.matches(&node.labels)),
        }
    }

    /// The texts of the selectors; none for all nodes.
    fn key(&self) -> Option<Vec<String>> {
        match self {
            Self::All => None,
            Self::Selected(selectors) => Some(selectors.keys().cloned().collect()),
        }
    }
}

/// The family of the addresses, and the texts of the selectors; none selects all nodes.
type Key = (IpFamily, Option<Vec<String>>);

/// The peers by selectors.
#[derive(Debug, Clone, Default)]
pub(super) struct PeersOfSelectors {
    nodes: Option<Arc<NodeAddresses>>,
    is_alone: bool,
    known: BTreeMap<Key, Arc<BTreeSet<IpAddr>>>,
    /// Of the nodes before, which are often the same.
    before: BTreeMap<Key, Arc<BTreeSet<IpAddr>>>,
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

    /// The address of this node in this family, or what is missing, for users.
    pub(super) fn local(&self, family: IpFamily) -> Result<IpAddr, &'static str> {
        let missing = if self.is_alone { NO_API_SERVER } else { SLICES_UNKNOWN };
        let nodes = self.nodes.as_ref().ok_or(missing)?;
        let own = nodes.nodes.get(&nodes.own).ok_or(NODE_NOT_IN_SLICE)?;
        own.underlay(family).ok_or_else(|| no_underlay_address(family))
    }

    /// The peers among these nodes, or what is missing.
    pub(super) fn of(&mut self, members: &Members<'_>, family: IpFamily) -> Result<Peers, &'static str> {
        let local = self.local(family)?;
        let key = (family, members.key());
        if let Some(known) = self.known.get(&key) {
            return Ok(Peers { local, others: Arc::clone(known) });
        }
        let nodes = self.nodes.iter().flat_map(|nodes| nodes.nodes.values().filter(|node| node.name != nodes.own));
        let selected = nodes.filter(|node| members.contains(node));
        let others: BTreeSet<IpAddr> =
            selected.filter_map(|node| node.underlay(family)).filter(|it| *it != local).collect();
        let others = match self.before.remove(&key) {
            Some(before) if *before == others => before,
            _ => Arc::new(others),
        };
        self.known.insert(key, Arc::clone(&others));
        Ok(Peers { local, others })
    }
}
