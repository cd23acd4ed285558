//! Conditions of a network that is being deleted.

use super::deletion::DeletionState;
use super::inputs::count;
use usnet_crds::conditions::reason::{FOREIGN_PORTS, IN_USE, TERMINATING};
use usnet_crds::conditions::{ConditionUpdate, DELETION_BLOCKED, READY, RECONCILING, Status};
use usnet_crds::network::{FORCE_DELETE, NodeCounts};

/// The maximum number of pods in a message.
const PODS_NAMED: usize = 10;

/// The nodes that still carry the network.
pub(super) fn counts(state: &DeletionState) -> NodeCounts {
    let count = i64::try_from(state.pending_nodes.len()).unwrap_or(i64::MAX);
    NodeCounts { selected: count, programmed: count, summary: format!("{count}/{count}"), ..NodeCounts::default() }
}

pub(super) fn conditions(state: &DeletionState) -> Vec<ConditionUpdate> {
    let (mut message, mut waiting) = if state.attachments > 0 {
        let message = in_use(state);
        (message.clone(), ConditionUpdate::new(DELETION_BLOCKED, Status::True, IN_USE, message))
    } else if let Some((node, blocker)) = state.blockers.first_key_value() {
        let nodes = count(state.blockers.len(), "node");
        let message = format!("{nodes} cannot remove the bridge, first {node}: {blocker}");
        (message.clone(), ConditionUpdate::new(DELETION_BLOCKED, Status::True, FOREIGN_PORTS, message))
    } else {
        let first = state.pending_nodes.first().map(String::as_str).unwrap_or_default();
        let nodes = count(state.pending_nodes.len(), "node");
        let message = format!("waiting for {nodes} to remove the network, first {first}");
        (message.clone(), ConditionUpdate::new(RECONCILING, Status::True, TERMINATING, message))
    };
    if let Some(value) = &state.force {
        let ignored =
            format!("; annotation {FORCE_DELETE} is ignored: its value {value:?} is not the name of this network");
        message.push_str(&ignored);
        waiting.message.push_str(&ignored);
    }
    vec![ConditionUpdate::new(READY, Status::False, TERMINATING, message), waiting]
}

fn in_use(state: &DeletionState) -> String {
    let named: Vec<&str> = state.pods.iter().take(PODS_NAMED).map(String::as_str).collect();
    let interfaces = count(usize::try_from(state.attachments).unwrap_or(usize::MAX), "interface");
    let nodes = count(state.nodes_in_use.len(), "node");
    let more = if state.pods.len() > named.len() { " and others" } else { "" };
    format!("{interfaces} of pods on {nodes} still use it: {}{more}; delete these pods", named.join(", "))
}
