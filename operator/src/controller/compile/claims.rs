//! Which network has which bridge on which node. A bridge belongs to one network only.

use super::super::drain::is_drained;
use super::super::inputs::Inputs;
use std::collections::BTreeMap;
use usnet_crds::BridgeName;

/// Another network has the bridge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "spec.bridge.name: bridge {bridge} on node {node} already belongs to network {other}: make a network with another bridge name, or choose other nodes"
)]
pub(super) struct Conflict {
    pub(super) bridge: BridgeName,
    pub(super) node: String,
    pub(super) other: String,
}

/// The bridges that are taken.
pub(super) struct Claims<'a>(BTreeMap<(&'a str, BridgeName), &'a str>);

impl<'a> Claims<'a> {
    /// What nodes have already stays where it is, whoever is older: pods may be using it. A node that was told to let go of a network
    /// has its bridge until it says that the network is gone.
    pub(super) fn held(inputs: &'a Inputs) -> Self {
        let mut claims = BTreeMap::new();
        for (node, state) in inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node)) {
            for (name, held) in state.networks.iter().flatten() {
                if inputs.networks.contains_key(name) && !is_drained(state, name) {
                    claims.insert((node.as_str(), held.bridge.name.clone()), name.as_str());
                }
            }
        }
        for (node, state) in inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node)) {
            for name in state.status.iter().flat_map(|status| status.reports.keys()) {
                if let Some(Ok(valid)) = inputs.networks.get(name).map(|network| &network.spec) {
                    claims.entry((node.as_str(), valid.bridge.name.clone())).or_insert(name.as_str());
                }
            }
        }
        Self(claims)
    }

    /// Claims the bridge on all these nodes, or on none.
    pub(super) fn claim(&mut self, network: &'a str, bridge: &BridgeName, nodes: &[&'a str]) -> Result<(), Conflict> {
        for node in nodes {
            if let Some(other) = self.0.get(&(node, bridge.clone())).filter(|other| **other != network) {
                let (node, other) = ((*node).to_owned(), (*other).to_owned());
                return Err(Conflict { bridge: bridge.clone(), node, other });
            }
        }
        self.0.extend(nodes.iter().map(|node| ((*node, bridge.clone()), network)));
        Ok(())
    }
}
