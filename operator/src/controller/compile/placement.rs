//! Puts networks on nodes.

use super::super::drain::is_drained;
use super::super::inputs::{Inputs, Network, Node, NodeState};
use super::claims::{Claims, Conflict};
use super::{Networks, namespaces};
use kube::core::SelectorExt;
use std::collections::BTreeMap;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{NodeNetwork, Phase};

/// Puts networks on nodes, one network after the other.
pub(super) struct Placer<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) claims: Claims<'a>,
    pub(super) nodes: &'a mut BTreeMap<String, Networks>,
}

impl<'a> Placer<'a> {
    /// Puts the network on the nodes that it selects. A node that it selects no longer keeps it until its pods are gone.
    pub(super) fn place(&mut self, network: &Network, valid: &'a ValidNetwork) -> Result<(), Conflict> {
        let name = valid.name.as_str();
        let selects = |(node, facts): &(&'a String, &'a Node)| {
            let state = self.inputs.states.get(*node);
            selects(valid, facts, state)
        };
        let wanted: Vec<&str> = self.inputs.nodes.iter().filter(selects).map(|(node, _)| node.as_str()).collect();
        self.claims.claim(valid, &wanted)?;
        let entry = compiled(self.inputs, network, valid);
        for node in &wanted {
            self.put(node, entry.clone());
        }
        for (node, held) in self.held(name) {
            if !self.is_free(node, name) && !wanted.contains(&node) {
                self.put(node, NodeNetwork { phase: Phase::Draining, ..held });
            }
        }
        Ok(())
    }

    /// Leaves the network as the nodes have it, but for those that have just been drained: their bridges are free for others.
    pub(super) fn keep(&mut self, name: &str) {
        for (node, held) in self.held(name) {
            if !self.is_free(node, name) {
                self.put(node, held);
            }
        }
    }

    /// Takes the network from all nodes, once none of them has a pod on it.
    pub(super) fn drain_everywhere(&mut self, name: &str) {
        let held = self.held(name);
        if held.iter().all(|(node, _)| self.is_free(node, name)) {
            return;
        }
        for (node, held) in held {
            self.put(node, NodeNetwork { phase: Phase::Draining, ..held });
        }
    }

    fn is_free(&self, node: &str, name: &str) -> bool {
        self.inputs.states.get(node).is_none_or(|state| is_drained(state, name))
    }

    /// The nodes that have the network now.
    fn held(&self, name: &str) -> Vec<(&'a str, NodeNetwork)> {
        let inputs: &'a Inputs = self.inputs;
        let states = inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node));
        states.filter_map(|(node, state)| Some((node.as_str(), state.held(name)?.clone()))).collect()
    }

    fn put(&mut self, node: &str, network: NodeNetwork) {
        if let Some(networks) = self.nodes.get_mut(node) {
            networks.insert(network.name.to_string(), network);
        }
    }
}

/// A network without a node selector goes to every node that has its engine. A node that has not spoken yet may have it.
fn selects(network: &ValidNetwork, node: &Node, state: Option<&NodeState>) -> bool {
    match &network.nodes {
        Some(selector) => selector.matches(&node.labels),
        None => !state.and_then(|state| state.status.as_ref()).is_some_and(|status| status.lacks(network.engine)),
    }
}

fn compiled(inputs: &Inputs, network: &Network, valid: &ValidNetwork) -> NodeNetwork {
    NodeNetwork {
        name: valid.name.clone(),
        generation: network.generation,
        phase: Phase::Active,
        engine: valid.engine,
        bridge: valid.bridge.clone(),
        port: valid.port.clone(),
        allowed_namespaces: namespaces(inputs, valid).map(|(namespace, _)| namespace.clone()).collect(),
        ipam: valid.ipam.clone(),
        attachments: valid.attachments.clone(),
    }
}
