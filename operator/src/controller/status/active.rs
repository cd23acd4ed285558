//! Conditions of a network that is not being deleted: Ready, the conditions that it summarizes, and
//! Reconciling or Stalled (kstatus), which indicate to tools whether to wait or to call an
//! operator.

use super::inputs::{StatusInputs, count};
use crate::controller::cache::nads::Availability;
use crate::controller::compile::Stage;
use usnet_crds::conditions::reason::{
    ALL_NODES, BRIDGE_CONFLICT, COMPILED_NETWORK_REFUSED, NAME_CONFLICT, NO_MATCHING_NODES, PENDING, SYNCED, SYNCING,
    UNAVAILABLE, VALID,
};
use usnet_crds::conditions::{
    ACCEPTED, ConditionUpdate, DEFINITIONS_READY, PROGRAMMED, READY, RECONCILING, STALLED, Status,
};

const NOT_EVALUATED: &str = "not evaluated while the network is rejected";

pub(super) fn conditions(inputs: &StatusInputs<'_>) -> Vec<ConditionUpdate> {
    let (accepted, nads, programmed) = (accepted(inputs), nads(inputs), programmed(inputs));
    let needs_operator = accepted.status != Status::True || inputs.tally.needs_operator();
    // A NAD that usnet does not own affects only its namespace.
    let blocks_ready = |part: &&ConditionUpdate| part.status != Status::True && part.reason != NAME_CONFLICT;
    let blocking = [&accepted, &nads, &programmed].into_iter().find(blocks_ready);
    let ConditionUpdate { reason, message, .. } = blocking.unwrap_or(&programmed).clone();
    let ready = ConditionUpdate::new(READY, Status::from(blocking.is_none()), reason.clone(), message.clone());
    let waiting = blocking.map(|_| {
        let kind = if needs_operator { STALLED } else { RECONCILING };
        ConditionUpdate::new(kind, Status::True, reason, message)
    });
    [ready, accepted, nads, programmed].into_iter().chain(waiting).collect()
}

fn accepted(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    if let Stage::Rejected { reason, message } = inputs.stage {
        return ConditionUpdate::new(ACCEPTED, Status::False, reason, message);
    }
    match inputs.tally.failures.first() {
        Some(first) if inputs.tally.is_conflict_everywhere() => {
            let message = format!("{} (so on every node, first {})", first.message, first.node);
            ConditionUpdate::new(ACCEPTED, Status::False, BRIDGE_CONFLICT, message)
        }
        _ => ConditionUpdate::new(ACCEPTED, Status::True, VALID, "the spec breaks no rule and conflicts with nothing"),
    }
}

fn nads(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    let update =
        |status, reason: &str, message: String| ConditionUpdate::new(DEFINITIONS_READY, status, reason, message);
    if let Stage::Rejected { reason, .. } = inputs.stage {
        return update(Status::Unknown, reason, NOT_EVALUATED.to_owned());
    }
    if inputs.network.is_from_nad() {
        let message = "it was created from NetworkAttachmentDefinitions of users and creates none of its own";
        return update(Status::True, SYNCED, message.to_owned());
    }
    let reading = "NetworkAttachmentDefinitions are being read".to_owned();
    let progress = match (inputs.availability, inputs.facts.nads) {
        (Availability::Unavailable, _) => {
            let message = "NetworkAttachmentDefinitions cannot be read: install Multus, whose CRD they need";
            return update(Status::False, UNAVAILABLE, message.to_owned());
        }
        (Availability::Reading, _) | (Availability::Known, None) => return update(Status::False, SYNCING, reading),
        (Availability::Known, Some(progress)) => progress,
    };
    let message = format!("{} of {} have the definition", progress.present, count(progress.desired, "namespace"));
    if progress.present != progress.desired {
        return update(Status::False, SYNCING, message);
    }
    let Some(first) = &progress.first_conflict else { return update(Status::True, SYNCED, message) };
    let more = match progress.conflicts {
        1 => String::new(),
        all => format!(" (and so in {} more)", count(all - 1, "namespace")),
    };
    let message = format!(
        "{message}; NetworkAttachmentDefinition {first}/{} is not owned by usnet{more}: rename or delete it, or exclude its namespace by the namespaceSelector",
        inputs.name
    );
    update(Status::False, NAME_CONFLICT, message)
}

fn programmed(inputs: &StatusInputs<'_>) -> ConditionUpdate {
    let tally = &inputs.tally;
    let update = |status, reason: &str, message: String| ConditionUpdate::new(PROGRAMMED, status, reason, message);
    if let Some(rejection) = inputs.facts.rejection {
        return update(Status::False, COMPILED_NETWORK_REFUSED, rejection.to_owned());
    }
    let mut message = format!("programmed on {} of {}", tally.programmed, count(tally.selected, "node"));
    if tally.unreachable > 0 {
        message.push_str(&format!("; {} NotReady", tally.unreachable));
    }
    if let Some(first) = tally.failures.first() {
        let text = format!("{message}; node {}: {}: {}", first.node, first.reason, first.message);
        return update(Status::False, &first.reason, text);
    }
    if let Some(first) = &tally.first_pending {
        let text = format!("{message}; waiting for {}, first {first}", count(tally.pending, "node"));
        return update(Status::False, PENDING, text);
    }
    match inputs.stage {
        _ if tally.selected > 0 => update(Status::True, ALL_NODES, message),
        Stage::Rejected { reason, .. } => update(Status::Unknown, reason, NOT_EVALUATED.to_owned()),
        _ if inputs.facts.is_outdated => update(Status::False, PENDING, "nodes were not told yet".to_owned()),
        _ => update(Status::True, NO_MATCHING_NODES, "no node is selected".to_owned()),
    }
}
