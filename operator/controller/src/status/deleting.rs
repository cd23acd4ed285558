//! Conditions of a network that is being deleted.

use super::deletion::DeletionState;
use usnet_crds::conditions::message::network as message;
use usnet_crds::conditions::reason::{IN_USE, TERMINATING};
use usnet_crds::conditions::{ConditionUpdate, DELETION_BLOCKED, READY, RECONCILING, Status};
use usnet_crds::network::NodeCounts;

/// The nodes that still carry the network.
pub(super) fn counts(state: &DeletionState) -> NodeCounts {
    let count = i64::try_from(state.pending_nodes.len()).unwrap_or(i64::MAX);
    NodeCounts { selected: count, programmed: count, summary: format!("{count}/{count}"), ..NodeCounts::default() }
}

pub(super) fn conditions(state: &DeletionState) -> Vec<ConditionUpdate> {
    let (mut message, mut waiting) = if state.attachments > 0 {
        let interfaces = usize::try_from(state.attachments).unwrap_or(usize::MAX);
        let message = message::in_use(interfaces, state.nodes_in_use.len(), &state.pods);
        (message.clone(), ConditionUpdate::new(DELETION_BLOCKED, Status::True, IN_USE, message))
    } else if let Some((node, blocker)) = state.blockers.first_key_value() {
        let message = message::bridge_blocked(state.blockers.len(), node, &blocker.message);
        (message.clone(), ConditionUpdate::new(DELETION_BLOCKED, Status::True, blocker.reason, message))
    } else {
        let message = match state.pending_nodes.first() {
            Some(first) => message::waiting_for_removal(state.pending_nodes.len(), first),
            None => message::WAITING_FOR_DRAIN.to_owned(),
        };
        (message.clone(), ConditionUpdate::new(RECONCILING, Status::True, TERMINATING, message))
    };
    if let Some(value) = &state.force {
        let ignored = message::force_ignored(value);
        message.push_str(&ignored);
        waiting.message.push_str(&ignored);
    }
    vec![ConditionUpdate::new(READY, Status::False, TERMINATING, message), waiting]
}
