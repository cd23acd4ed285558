//! Which network has which bridge on which node. A bridge belongs to one network only. Each engine has bridges of its own: what one calls `4`
//! is nothing to the other.

use super::super::drain::is_drained;
use super::super::inputs::{Inputs, Network, NodeState};
use super::judge::is_used;
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

/// The bridges that are taken.
pub(in super::super) struct Claims<'a> {
    /// None when only one network is looked at, which nobody can be in the way of.
    taken: Option<BTreeMap<Place<'a>, &'a str>>,
}

impl<'a> Claims<'a> {
    /// For a network that shares no bridge with another.
    pub(in super::super) const fn of_one() -> Self {
        Self { taken: None }
    }

    /// What nodes have of these networks already. It stays where it is, whoever is older: pods may be using it. A node that was told to let go of
    /// a network has its bridge until it says that the network is gone.
    pub(in super::super) fn held(inputs: &'a Inputs, names: &BTreeSet<&'a str>) -> Self {
        let mut taken = BTreeMap::new();
        for (name, network) in known(inputs, names) {
            // A network that is deleted leaves all its nodes at once.
            let is_in_use = network.is_deleting && is_used(inputs, name);
            for (node, state) in states(inputs) {
                let stays = if network.is_deleting { is_in_use } else { !is_drained(state, name) };
                if let Some(held) = state.held(name).filter(|_| stays) {
                    taken.insert(Place::held(node, held), name);
                }
            }
        }
        for (name, network) in known(inputs, names) {
            let Ok(valid) = &network.spec else { continue };
            for (node, _) in states(inputs).filter(|(_, state)| state.report(name).is_some()) {
                taken.entry(Place::wanted(node, valid)).or_insert(name);
            }
        }
        Self { taken: Some(taken) }
    }

    /// Claims the network's bridge on all the nodes, or on none.
    pub(super) fn claim(
        &mut self,
        network: &'a ValidNetwork,
        nodes: impl FnOnce() -> Vec<&'a str>,
    ) -> Result<(), Conflict> {
        let Some(taken) = &mut self.taken else { return Ok(()) };
        let (name, nodes) = (network.name.as_str(), nodes());
        for node in &nodes {
            let place = Place::wanted(node, network);
            if let Some(other) = taken.get(&place).filter(|other| **other != name) {
                return Err(place.belongs_to(other));
            }
        }
        taken.extend(nodes.iter().map(|node| (Place::wanted(node, network), name)));
        Ok(())
    }
}

/// Those of the networks that exist.
fn known<'a>(inputs: &'a Inputs, names: &BTreeSet<&'a str>) -> impl Iterator<Item = (&'a str, &'a Network)> {
    names.iter().filter_map(|name| Some((*name, inputs.networks.get(*name)?)))
}

/// Of the nodes that are in the cluster.
fn states(inputs: &Inputs) -> impl Iterator<Item = (&str, &NodeState)> {
    let states = inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node));
    states.map(|(node, state)| (node.as_str(), state))
}
