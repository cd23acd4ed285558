//! Which network has which bridge on which node. A bridge belongs to one network only. Each engine has bridges of its own: what one calls `4`
//! is nothing to the other.

use super::super::drain::is_drained;
use super::super::inputs::{Inputs, NodeState};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, Engine, NodeNetwork};

/// Another network has the bridge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Conflict {
    #[error(
        "spec.bridge.name: bridge {bridge} on node {node} already belongs to network {other}: make a network with another bridge name, or choose other nodes"
    )]
    Bridge { bridge: BridgeName, node: String, other: String },
    #[error(
        "spec.bridge.id: bridge domain {id} on node {node} already belongs to network {other}: make this network anew with a spec.bridge.id that no other has, or choose other nodes"
    )]
    BridgeDomain { id: BridgeName, node: String, other: String },
}

/// A bridge on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'a> {
    node: &'a str,
    engine: Engine,
    bridge: &'a BridgeName,
}

impl<'a> Place<'a> {
    fn held(node: &'a str, network: &'a NodeNetwork) -> Self {
        Self { node, engine: network.engine, bridge: &network.bridge.name }
    }

    fn wanted(node: &'a str, network: &'a ValidNetwork) -> Self {
        Self { node, engine: network.engine, bridge: &network.bridge.name }
    }

    fn belongs_to(&self, other: &str) -> Conflict {
        let (bridge, node, other) = (self.bridge.clone(), self.node.to_owned(), other.to_owned());
        match self.engine {
            Engine::OpenVswitch => Conflict::Bridge { bridge, node, other },
            Engine::Vpp => Conflict::BridgeDomain { id: bridge, node, other },
        }
    }
}

/// Of the nodes that are in the cluster.
fn states(inputs: &Inputs) -> impl Iterator<Item = (&str, &NodeState)> {
    let states = inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node));
    states.map(|(node, state)| (node.as_str(), state))
}

/// Networks that some node cannot let go of yet.
fn in_use(inputs: &Inputs) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (_, state) in states(inputs) {
        let held = state.networks.iter().flat_map(BTreeMap::keys);
        names.extend(held.filter(|name| !is_drained(state, name)).map(String::as_str));
    }
    names
}

/// The bridges that are taken.
pub(super) struct Claims<'a>(BTreeMap<Place<'a>, &'a str>);

impl<'a> Claims<'a> {
    /// What nodes have already stays where it is, whoever is older: pods may be using it. A node that was told to let go of a network
    /// has its bridge until it says that the network is gone.
    pub(super) fn held(inputs: &'a Inputs) -> Self {
        let in_use = in_use(inputs);
        let mut claims = BTreeMap::new();
        for (node, state) in states(inputs) {
            for (name, held) in state.networks.iter().flatten() {
                let Some(network) = inputs.networks.get(name) else { continue };
                // A network that is deleted leaves all its nodes at once.
                let stays = if network.is_deleting { in_use.contains(name.as_str()) } else { !is_drained(state, name) };
                if stays {
                    claims.insert(Place::held(node, held), name.as_str());
                }
            }
        }
        for (node, state) in states(inputs) {
            for name in state.status.iter().flat_map(|status| status.reports.keys()) {
                if let Some(Ok(valid)) = inputs.networks.get(name).map(|network| &network.spec) {
                    claims.entry(Place::wanted(node, valid)).or_insert(name.as_str());
                }
            }
        }
        Self(claims)
    }

    /// Claims the network's bridge on all these nodes, or on none.
    pub(super) fn claim(&mut self, network: &'a ValidNetwork, nodes: &[&'a str]) -> Result<(), Conflict> {
        let name = network.name.as_str();
        for node in nodes {
            let place = Place::wanted(node, network);
            if let Some(other) = self.0.get(&place).filter(|other| **other != name) {
                return Err(place.belongs_to(other));
            }
        }
        self.0.extend(nodes.iter().map(|node| (Place::wanted(node, network), name)));
        Ok(())
    }
}
