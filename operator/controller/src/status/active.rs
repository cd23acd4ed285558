//! Conditions of a network that is not being deleted: Ready, the conditions that it summarizes, and
//! Reconciling or Stalled (kstatus), which indicate to tools whether to wait or to call an
//! operator.

use super::inputs::StatusInputs;
use crate::cache::nads::Availability;
use crate::compile::Stage;
use crate::compile::nads::NadProgress;
use usnet_crds::conditions::message::network::{self as message, NadCounts, NodeProgress, Refusals};
use usnet_crds::conditions::reason::{
    ALL_NODES, BRIDGE_CONFLICT, COMPILED_NETWORK_REFUSED, DEFINITION_REFUSED, NAME_CONFLICT, NO_MATCHING_NODES,
    PENDING, SYNCED, SYNCING, UNAVAILABLE, VALID,
};
use usnet_crds::conditions::{
    ACCEPTED, ConditionUpdate, DEFINITIONS_READY, PROGRAMMED, READY, RECONCILING, STALLED, Status, find,
};
use usnet_crds::network::NodeFailure;
use usnet_crds::node_selection::selector_text;

pub(super) fn conditions(inputs: &StatusInputs<'_>) -> Vec<ConditionUpdate> {
    let (accepted, nads, mut programmed) = (accepted(inputs), nads(inputs), programmed(inputs));
    let needs_operator = !inputs.will_end() && (accepted.status != Status::True || inputs.tally.needs_operator());
    // They affect only their namespace.
    let is_of_namespace = |reason: &str| [NAME_CONFLICT, DEFINITION_REFUSED].contains(&reason);
    let blocks_ready = |part: &&ConditionUpdate| part.status != Status::True && !is_of_namespace(&part.reason);
    let blocking = [&accepted, &nads, &programmed].into_iter().find(blocks_ready);
    let ConditionUpdate { reason, message, .. } = blocking.unwrap_or(&programmed).clone();
    let ready = ConditionUpdate::new(READY, Status::from(blocking.is_none()), reason.clone(), message);
    let waiting = blocking.map(|_| {
        let kind = if needs_operator { STALLED } else { RECONCILING };
        ConditionUpdate::new(kind, Status::True, reason, message::SEE_READY)
    });
    // `kubectl describe` shows all conditions, the failures and the events.
    if programmed.status == Status::False && programmed.message == ready.message {
        message::SEE_READY.clone_into(&mut programmed.message);
    }
    [ready, accepted, nads, programmed].into_iter().chain(waiting).collect()
}

fn accepted(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    if let Stage::Rejected { reason, message, .. } = inputs.stage {
        return ConditionUpdate::new(ACCEPTED, Status::False, reason, message);
    }
    match inputs.tally.failures.first() {
        Some(first) if inputs.tally.is_conflict_everywhere() => {
            let message = message::conflict_everywhere(&first.message, &first.node);
            ConditionUpdate::new(ACCEPTED, Status::False, BRIDGE_CONFLICT, message)
        }
        _ if !inputs.refused_rivals.is_empty() => {
            let message = message::rivals_refused(&inputs.refused_rivals);
            ConditionUpdate::new(ACCEPTED, Status::True, VALID, message)
        }
        _ => ConditionUpdate::new(ACCEPTED, Status::True, VALID, valid_message(inputs)),
    }
}

/// The IPAM plugin host-local allocates on each node by itself, without regard to other nodes.
fn valid_message(inputs: &StatusInputs<'_>) -> &'static str {
    let is_ambiguous = inputs.network.spec.as_ref().is_ok_and(|valid| valid.counts_addresses_per_node());
    if is_ambiguous && inputs.tally.selected > 1 { message::ADDRESSES_NOT_UNIQUE } else { message::SPEC_VALID }
}

fn nads(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    let update = |status, reason: &str, message: &str| ConditionUpdate::new(DEFINITIONS_READY, status, reason, message);
    if let Stage::Rejected { reason, .. } = inputs.stage {
        return update(Status::Unknown, reason, message::NOT_EVALUATED);
    }
    if inputs.network.is_from_nad() {
        return update(Status::True, SYNCED, message::NADS_OF_USERS);
    }
    let progress = match (inputs.availability, inputs.facts.nads) {
        (Availability::Unavailable, _) => return update(Status::False, UNAVAILABLE, message::NADS_UNAVAILABLE),
        (Availability::Reading, _) | (Availability::Known, None) => {
            return update(Status::False, SYNCING, message::NADS_READING);
        }
        (Availability::Known, Some(progress)) => progress,
    };
    let counts = NadCounts { present: progress.present, desired: progress.desired };
    if progress.present != progress.desired {
        return match held_refusal(inputs) {
            Some(message) => update(Status::False, DEFINITION_REFUSED, message),
            None => update(Status::False, SYNCING, &counts.to_string()),
        };
    }
    if progress.refusals > 0 {
        let NadProgress { refusing: named, refusals: all, refusal: words, .. } = progress;
        let refusals = Refusals { named, all: *all, words };
        return update(Status::False, DEFINITION_REFUSED, &message::definition_refused(counts, inputs.name, refusals));
    }
    match &progress.first_conflict {
        None => {
            let selector = inputs.network.spec.as_ref().ok().filter(|valid| !valid.namespaces.selects_all());
            let selector = selector.map(|valid| selector_text(&valid.namespaces));
            let message = message::definitions_ready(counts, selector.as_deref(), &progress.namespaces);
            update(Status::True, SYNCED, &message)
        }
        Some(first) => {
            let message = message::nad_conflict(counts, inputs.name, first, progress.conflicts);
            update(Status::False, NAME_CONFLICT, &message)
        }
    }
}

/// The refusal in the current status of this spec. A controller that has just begun to lead does
/// not know yet which namespaces refuse the definition; the network must not become not Ready
/// meanwhile.
fn held_refusal<'a>(inputs: &StatusInputs<'a>) -> Option<&'a str> {
    let old = find(&inputs.network.status.as_ref()?.conditions, DEFINITIONS_READY)?;
    let is_current = old.observed_generation == Some(inputs.network.generation);
    (old.reason == DEFINITION_REFUSED && is_current).then_some(old.message.as_str())
}

fn programmed(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    let tally = &inputs.tally;
    let update = |status, reason: &str, message: String| ConditionUpdate::new(PROGRAMMED, status, reason, message);
    if let Some(rejection) = inputs.facts.rejection {
        return update(Status::False, COMPILED_NETWORK_REFUSED, rejection.to_owned());
    }
    let progress =
        NodeProgress { programmed: tally.programmed, selected: tally.selected, unreachable: tally.unreachable };
    if let Some(NodeFailure { node, reason, message }) = tally.failures.first() {
        return update(Status::False, reason, message::node_failed(progress, node, reason, message));
    }
    if let Some(first) = &tally.first_pending {
        return update(Status::False, PENDING, message::nodes_pending(progress, tally.pending, first));
    }
    match inputs.stage {
        _ if tally.selected > 0 => update(Status::True, ALL_NODES, progress.to_string()),
        Stage::Rejected { reason, .. } => update(Status::Unknown, reason, message::NOT_EVALUATED.to_owned()),
        _ if inputs.facts.is_outdated => update(Status::False, PENDING, message::NODES_OUTDATED.to_owned()),
        _ => update(Status::True, NO_MATCHING_NODES, message::NO_NODES.to_owned()),
    }
}
