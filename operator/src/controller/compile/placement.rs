//! Puts a network on nodes.

use super::super::drain::is_drained;
use super::super::inputs::{Inputs, Network, Node, NodeState};
use super::namespaces;
use kube::core::SelectorExt;
use std::sync::Arc;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{NodeNetwork, Phase};

/// What happens to one network on all nodes.
#[derive(Debug, Clone, Default)]
pub(in super::super) enum Course {
    /// It goes to the nodes that it selects. A node that it selects no longer keeps it until its pods are gone.
    Place(Arc<NodeNetwork>),
    /// It stays as the nodes have it, but for those that have just been drained: their bridges are free for others.
    Keep,
    /// It is to leave all nodes, of which some have pods on it.
    Drain,
    /// No node has it.
    #[default]
    Leave,
}

impl Course {
    /// The network as this node should have it.
    pub(in super::super) fn on(
        &self,
        network: &Network,
        (node, state): (&Node, Option<&NodeState>),
        held: Option<&Arc<NodeNetwork>>,
        draining: &mut Draining,
    ) -> Option<Arc<NodeNetwork>> {
        let used = || held.filter(|held| !state.is_none_or(|state| is_drained(state, held.name.as_str())));
        match self {
            Self::Place(entry) if network.spec.as_ref().is_ok_and(|valid| selects(valid, node, state)) => {
                Some(entry.clone())
            }
            Self::Place(_) => used().map(|held| draining.of(held)),
            Self::Keep => used().cloned(),
            Self::Drain => held.map(|held| draining.of(held)),
            Self::Leave => None,
        }
    }
}

/// A network as nodes have it while they let go of it. The last one is remembered, because the next node most often asks for the same.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Draining(Option<(Arc<NodeNetwork>, Arc<NodeNetwork>)>);

impl Draining {
    fn of(&mut self, held: &Arc<NodeNetwork>) -> Arc<NodeNetwork> {
        if held.phase == Phase::Draining {
            return held.clone();
        }
        if let Some((_, made)) = self.0.as_ref().filter(|(of, _)| of == held) {
            return made.clone();
        }
        let made = Arc::new(NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(held) });
        self.0 = Some((held.clone(), made.clone()));
        made
    }
}

/// The nodes that a network selects.
pub(super) fn selected<'a>(inputs: &'a Inputs, valid: &ValidNetwork) -> Vec<&'a str> {
    let nodes = inputs.nodes.iter().filter(|(name, node)| selects(valid, node, inputs.states.get(*name)));
    nodes.map(|(name, _)| name.as_str()).collect()
}

/// A network without a node selector goes to every node that has its engine. A node that has not spoken yet may have it.
pub(in super::super) fn selects(network: &ValidNetwork, node: &Node, state: Option<&NodeState>) -> bool {
    match &network.nodes {
        Some(selector) => selector.matches(&node.labels),
        None => !state.and_then(|state| state.status.as_ref()).is_some_and(|status| status.lacks(network.engine)),
    }
}

/// The network as the nodes that it selects have it.
pub(super) fn entry(inputs: &Inputs, network: &Network, valid: &ValidNetwork) -> NodeNetwork {
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
        device_plugin: valid.device_plugin,
    }
}
