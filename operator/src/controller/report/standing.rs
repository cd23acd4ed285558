//! What is said of a network that is there to stay: Ready, then what it is made of, then what tells tools whether to wait or to call somebody.

use super::super::compile::Verdict;
use super::super::compile::definitions::Definitions;
use super::super::from_nad::is_from_nad;
use super::{Facts, count};
use usnet_crds::conditions::reason::{
    ALL_NODES, NAME_CONFLICT, NO_MATCHING_NODES, PENDING, SYNCED, SYNCING, UNAVAILABLE, VALID,
};
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, Finding, PROGRAMMED, READY, RECONCILING, STALLED, Status};

const NOT_LOOKED_AT: &str = "not looked at while the network is refused";

pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let (accepted, definitions, programmed) = (accepted(facts), definitions(facts), programmed(facts));
    let needs_a_person = accepted.status != Status::True || facts.tally.only_a_person_helps();
    let holding = [&accepted, &definitions, &programmed].into_iter().find(|part| part.status != Status::True);
    let Finding { reason, message, .. } = holding.unwrap_or(&programmed).clone();
    let ready = Finding::new(READY, Status::from(holding.is_none()), reason.clone(), message.clone());
    let waiting = holding.map(|_| {
        let kind = if needs_a_person { STALLED } else { RECONCILING };
        Finding::new(kind, Status::True, reason, message)
    });
    [ready, accepted, definitions, programmed].into_iter().chain(waiting).collect()
}

fn accepted(facts: &Facts<'_>) -> Finding {
    if let Verdict::Refused { reason, message } = facts.verdict {
        return Finding::new(ACCEPTED, Status::False, *reason, message.clone());
    }
    let conflicts = facts.definitions.map(|definitions| definitions.conflicts.as_slice()).unwrap_or_default();
    let Some(first) = conflicts.first() else {
        return Finding::new(ACCEPTED, Status::True, VALID, "the spec breaks no rule and clashes with nothing");
    };
    let more = match conflicts.len() {
        1 => String::new(),
        all => format!(" (so in {} more)", count(all - 1, "namespace")),
    };
    let message = format!(
        "NetworkAttachmentDefinition {first}/{} belongs to somebody else{more}: rename or delete it, or leave its namespace out of the namespaceSelector",
        facts.name
    );
    Finding::new(ACCEPTED, Status::False, NAME_CONFLICT, message)
}

fn definitions(facts: &Facts<'_>) -> Finding {
    let finding = |status, reason: &str, message: String| Finding::new(DEFINITIONS_READY, status, reason, message);
    if let Verdict::Refused { reason, .. } = facts.verdict {
        return finding(Status::Unknown, reason, NOT_LOOKED_AT.to_owned());
    }
    if is_from_nad(facts.network) {
        let message = "it was made from hand-written definitions and makes none of its own";
        return finding(Status::True, SYNCED, message.to_owned());
    }
    let Some(Definitions { wanted, achieved, .. }) = facts.definitions else {
        let message = "NetworkAttachmentDefinitions cannot be read: install Multus, whose CRD they need";
        return finding(Status::False, UNAVAILABLE, message.to_owned());
    };
    let message = format!("{achieved} of {} have the definition", count(*wanted, "namespace"));
    match achieved == wanted {
        true => finding(Status::True, SYNCED, message),
        false => finding(Status::False, SYNCING, message),
    }
}

fn programmed(facts: &Facts<'_>) -> Finding {
    let tally = &facts.tally;
    let finding = |status, reason: &str, message: String| Finding::new(PROGRAMMED, status, reason, message);
    let mut message = format!("programmed on {} of {}", tally.programmed, count(tally.selected, "node"));
    if tally.unreachable > 0 {
        message.push_str(&format!("; {} NotReady", tally.unreachable));
    }
    if let Some(first) = tally.failures.first() {
        let text = format!("{message}; node {}: {}: {}", first.node, first.reason, first.message);
        return finding(Status::False, &first.reason, text);
    }
    if let Some(first) = &tally.first_pending {
        let text = format!("{message}; waiting for {}, first {first}", count(tally.pending, "node"));
        return finding(Status::False, PENDING, text);
    }
    match facts.verdict {
        _ if tally.selected > 0 => finding(Status::True, ALL_NODES, message),
        Verdict::Refused { reason, .. } => finding(Status::Unknown, reason, NOT_LOOKED_AT.to_owned()),
        _ => finding(Status::True, NO_MATCHING_NODES, "no node is selected".to_owned()),
    }
}
