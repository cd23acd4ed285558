//! How far a network is on the nodes that should have it.

use super::compile::Compiled;
use super::inputs::{Inputs, NodeState};
use usnet_crds::network::{FAILURES_MAX, NodeCounts, NodeFailure};
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::{NodeNetwork, Phase};

/// The nodes of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) selected: usize,
    pub(super) programmed: usize,
    pub(super) unreachable: usize,
    /// Nodes that are still at work, sorted.
    pub(super) pending: Vec<String>,
    /// Nodes that cannot, sorted.
    pub(super) failures: Vec<NodeFailure>,
}

impl Tally {
    pub(super) fn of(network: &str, inputs: &Inputs, compiled: &Compiled) -> Self {
        let mut tally = Self::default();
        for (node, networks) in &compiled.nodes {
            let Some(wanted) = networks.get(network).filter(|wanted| wanted.phase == Phase::Active) else { continue };
            tally.selected += 1;
            if !inputs.nodes.get(node).is_some_and(|node| node.is_ready) {
                tally.unreachable += 1;
                continue;
            }
            let state =
                inputs.states.get(node).filter(|state| inputs.nodes.get(node).is_some_and(|it| state.is_of(it)));
            match current_report(state, network, wanted) {
                Some(report) if report.state == NetworkState::Programmed => tally.programmed += 1,
                Some(report) if report.state == NetworkState::Failed => tally.failures.push(NodeFailure {
                    node: node.clone(),
                    reason: report.reason.clone(),
                    message: report.message.clone(),
                }),
                _ => tally.pending.push(node.clone()),
            }
        }
        tally
    }

    /// For the status of the network.
    pub(super) fn counts(&self) -> NodeCounts {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        NodeCounts {
            selected: count(self.selected),
            programmed: count(self.programmed),
            failed: count(self.failures.len()),
            unreachable: count(self.unreachable),
            summary: format!("{}/{}", self.programmed, self.selected),
        }
    }

    /// The failures that a status has room for.
    pub(super) fn first_failures(&self) -> Vec<NodeFailure> {
        self.failures.iter().take(FAILURES_MAX).cloned().collect()
    }
}

/// What the node says of this generation of the network, and not of an older one.
fn current_report<'a>(state: Option<&'a NodeState>, network: &str, wanted: &NodeNetwork) -> Option<&'a NetworkReport> {
    state?.report(network).filter(|report| report.generation == wanted.generation)
}
