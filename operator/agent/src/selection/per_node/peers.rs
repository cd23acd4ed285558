//! The peers of this node in a segment: the other nodes that a network of the segment selects, or
//! all nodes if a network has no node selector. A node that lacks the engine is a peer that never
//! sends anything. Each set of selectors is evaluated once.

use super::missing::Missing;
use crate::model::input::NodeAddresses;
use ipnet::IpNet;
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::IpFamily;
use usnet_crds::conditions::message::node::no_underlay_address;
use usnet_crds::node_slice::SliceNode;
use usnet_crds::uplink::underlay::UplinkUnderlay;

/// This node and its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peers {
    pub(super) local: IpAddr,
    pub(super) others: Arc<BTreeSet<IpAddr>>,
}

/// The addresses between which a segment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Addresses {
    /// The first InternalIP of this family of each node.
    OfNode(IpFamily),
    /// The addresses in this subnet, by the numbers of the nodes.
    In(IpNet),
}

impl Addresses {
    fn of(self, node: &SliceNode) -> Option<IpAddr> {
        match self {
            Self::OfNode(family) => node.underlay(family),
            Self::In(subnet) => UplinkUnderlay { subnet, vlan: None }.address(node.number),
        }
    }
}

/// The nodes of a segment, by the selectors of its networks.
#[derive(Debug, Clone, Default)]
pub(super) enum Members<'a> {
    /// The nodes that any of these selectors selects, by their text.
    Selected(BTreeMap<String, &'a Selector>),
    /// All nodes.
    #[default]
    All,
}

impl<'a> Members<'a> {
    /// The nodes of one network.
    pub(super) fn of(selector: Option<&'a Selector>) -> Self {
        selector.map_or(Self::All, |selector| Self::Selected([(selector.to_string(), selector)].into()))
    }

    /// The nodes that any of these selectors selects. A selector that is none selects all nodes.
    pub(super) fn of_any(selectors: impl Iterator<Item = Option<&'a Selector>>) -> Self {
        let mut members = Self::Selected(BTreeMap::new());
        selectors.for_each(|selector| members.add(Self::of(selector)));
        members
    }

    /// Adds the nodes of another network.
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

    /// The texts of the selectors; none if all nodes are members.
    fn key(&self) -> Option<Vec<String>> {
        match self {
            Self::All => None,
            Self::Selected(selectors) => Some(selectors.keys().cloned().collect()),
        }
    }
}

/// The addresses, and the texts of the selectors; none if all nodes are members.
type Key = (Addresses, Option<Vec<String>>);

/// The peers, by addresses and selectors.
#[derive(Debug, Clone, Default)]
pub(super) struct PeersOfSelectors {
    nodes: Option<Arc<NodeAddresses>>,
    is_alone: bool,
    known: BTreeMap<Key, Arc<BTreeSet<IpAddr>>>,
    /// The peers among the previous nodes, which are often the same.
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

    /// Returns the address of this node, or what is missing.
    pub(super) fn local(&self, addresses: Addresses) -> Result<IpAddr, Missing> {
        let unknown = if self.is_alone { Missing::api_server() } else { Missing::slices() };
        let nodes = self.nodes.as_ref().ok_or(unknown)?;
        let own = nodes.nodes.get(&nodes.own).ok_or_else(Missing::own_node)?;
        addresses.of(own).ok_or_else(|| match addresses {
            Addresses::OfNode(family) => Missing::address(no_underlay_address(family)),
            Addresses::In(subnet) => Missing::address_in(&own.name, own.number, subnet),
        })
    }

    /// Returns the peers among these nodes, or what is missing.
    pub(super) fn of(&mut self, members: &Members<'_>, addresses: Addresses) -> Result<Peers, Missing> {
        let local = self.local(addresses)?;
        let key = (addresses, members.key());
        if let Some(known) = self.known.get(&key) {
            return Ok(Peers { local, others: Arc::clone(known) });
        }
        let nodes = self.nodes.iter().flat_map(|nodes| nodes.nodes.values().filter(|node| node.name != nodes.own));
        let selected = nodes.filter(|node| members.contains(node));
        let others: BTreeSet<IpAddr> =
            selected.filter_map(|node| addresses.of(node)).filter(|it| *it != local).collect();
        let others = match self.before.remove(&key) {
            Some(before) if *before == others => before,
            _ => Arc::new(others),
        };
        self.known.insert(key, Arc::clone(&others));
        Ok(Peers { local, others })
    }
}
