//! When a node may lose a network: only after its agent has said that new pods are refused and that none is left. Pods that use a network keep it.

use super::compile::placement::selects;
use super::inputs::{Inputs, Network, Node, NodeState};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::Phase;
use usnet_crds::conditions::reason::FOREIGN_PORTS;
use usnet_crds::node_state::NetworkState;

/// Whether the network can be taken from the spec of this node without cutting a pod off.
pub(super) fn is_drained(state: &NodeState, network: &str) -> bool {
    let Some(held) = state.held(network) else { return true };
    let Some(status) = &state.status else {
        // No agent has ever worked on this node.
        return held.phase == Phase::Draining;
    };
    let has_seen_draining = held.phase == Phase::Draining && status.observed_generation >= Some(state.generation);
    let lacks_engine = status.lacks(held.engine);
    let is_free = match status.reports.get(network) {
        Some(report) => report.attachments == 0 && (report.state == NetworkState::Draining || lacks_engine),
        None => lacks_engine,
    };
    has_seen_draining && is_free
}

/// Nodes of which it is not known any more whether they have the network: they are older than its deletion, their state is not. Their agents will say
/// it. A node that is not ready may have none that does.
fn forgotten<'a>(network: &'a Network, inputs: &'a Inputs) -> impl Iterator<Item = &'a String> {
    let is_lost = |asked: &Time, node: &Node, state: Option<&NodeState>| {
        node.created.as_ref().is_some_and(|created| created < asked)
            && state.is_none_or(|state| state.status.is_none() && state.created.as_ref() > Some(asked))
    };
    let nodes = inputs.nodes.iter().filter(|(_, node)| node.is_ready);
    let lost = nodes.filter(move |(name, node)| {
        let state = inputs.states.get(*name);
        network.deletion_asked.as_ref().is_some_and(|asked| is_lost(asked, node, state))
            && network.spec.as_ref().is_ok_and(|valid| selects(valid, node, state))
    });
    lost.map(|(name, _)| name)
}

/// What stands in the way of deleting a network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Attached interfaces of pods.
    pub attachments: i64,
    /// Those of them whose program is connected to the engine.
    pub connected: i64,
    /// Those who have them, as namespace/name; each node names only some.
    pub pods: BTreeSet<String>,
    /// Nodes that have pods on the network.
    pub nodes_in_use: BTreeSet<String>,
    /// Nodes whose agents have not said yet that the network is gone.
    pub nodes_waited_for: BTreeSet<String>,
    /// The value of the annotation that asks for deletion in any case.
    pub force: Option<String>,
    /// By node: why its agent may not take the bridge away. Only a person can change that.
    pub obstacles: BTreeMap<String, String>,
}

impl Remains {
    /// What is left of the network on the nodes of the cluster. Nodes that left the cluster took theirs along.
    pub(super) fn of(network: &str, inputs: &Inputs) -> Self {
        let object = inputs.networks.get(network);
        let force = object.and_then(|network| network.force_delete.clone());
        let mut remains = Self { force, ..Self::default() };
        remains.nodes_waited_for.extend(object.into_iter().flat_map(|object| forgotten(object, inputs)).cloned());
        for (node, state) in inputs.states.iter().filter(|(node, _)| inputs.nodes.contains_key(*node)) {
            let report = state.report(network);
            if let Some(report) = report.filter(|report| report.attachments > 0) {
                remains.attachments = remains.attachments.saturating_add(report.attachments);
                remains.connected = remains.connected.saturating_add(report.connected);
                remains.pods.extend(report.pods.iter().cloned());
                remains.nodes_in_use.insert(node.clone());
            }
            if let Some(report) = report.filter(|report| report.reason == FOREIGN_PORTS) {
                remains.obstacles.insert(node.clone(), report.message.clone());
            }
            if report.is_some() || state.held(network).is_some() {
                remains.nodes_waited_for.insert(node.clone());
            }
        }
        remains
    }

    /// Whether the network can go: nothing is left anywhere, or somebody who named it asks for it in any case. Agents keep bridge and ports of running pods then too.
    pub fn let_go(&self, network: &str) -> bool {
        self.force.as_deref() == Some(network) || (self.attachments == 0 && self.nodes_waited_for.is_empty())
    }
}
