//! Conditions of a network that is not being deleted: Ready, then what it is made of, then what tells tools whether to wait or to call an operator.

use super::{Findings, count};
use crate::controller::cache::definitions::Availability;
use crate::controller::compile::Stage;
use usnet_crds::conditions::reason::{
    ALL_NODES, BRIDGE_CONFLICT, COMPILED_NETWORK_REFUSED, NAME_CONFLICT, NO_MATCHING_NODES, PENDING, SYNCED, SYNCING,
    UNAVAILABLE, VALID,
};
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, Finding, PROGRAMMED, READY, RECONCILING, STALLED, Status};

const NOT_EVALUATED: &str = "not evaluated while the network is rejected";

pub(super) fn conditions(findings: &Findings<'_>) -> Vec<Finding> {
    let (accepted, definitions, programmed) = (accepted(findings), definitions(findings), programmed(findings));
    let needs_operator = accepted.status != Status::True || findings.tally.needs_operator();
    // A definition of another tenant that is in the way concerns its namespace alone.
    let holds_ready_back = |part: &&Finding| part.status != Status::True && part.reason != NAME_CONFLICT;
    let holding = [&accepted, &definitions, &programmed].into_iter().find(holds_ready_back);
    let Finding { reason, message, .. } = holding.unwrap_or(&programmed).clone();
    let ready = Finding::new(READY, Status::from(holding.is_none()), reason.clone(), message.clone());
    let waiting = holding.map(|_| {
        let kind = if needs_operator { STALLED } else { RECONCILING };
        Finding::new(kind, Status::True, reason, message)
    });
    [ready, accepted, definitions, programmed].into_iter().chain(waiting).collect()
}

fn accepted(findings: &Findings<'_>) -> Finding {
    if let Stage::Rejected { reason, message } = findings.stage {
        return Finding::new(ACCEPTED, Status::False, reason, message);
    }
    match findings.tally.failures.first() {
        Some(first) if findings.tally.is_conflict_everywhere() => {
            let message = format!("{} (so on every node, first {})", first.message, first.node);
            Finding::new(ACCEPTED, Status::False, BRIDGE_CONFLICT, message)
        }
        _ => Finding::new(ACCEPTED, Status::True, VALID, "the spec breaks no rule and conflicts with nothing"),
    }
}

fn definitions(findings: &Findings<'_>) -> Finding {
    let finding = |status, reason: &str, message: String| Finding::new(DEFINITIONS_READY, status, reason, message);
    if let Stage::Rejected { reason, .. } = findings.stage {
        return finding(Status::Unknown, reason, NOT_EVALUATED.to_owned());
    }
    if findings.network.is_from_nad() {
        let message = "it was created from NetworkAttachmentDefinitions of users and creates none of its own";
        return finding(Status::True, SYNCED, message.to_owned());
    }
    let reading = "NetworkAttachmentDefinitions are being read".to_owned();
    let progress = match (findings.availability, findings.facts.definitions) {
        (Availability::Unavailable, _) => {
            let message = "NetworkAttachmentDefinitions cannot be read: install Multus, whose CRD they need";
            return finding(Status::False, UNAVAILABLE, message.to_owned());
        }
        (Availability::Reading, _) | (Availability::Known, None) => return finding(Status::False, SYNCING, reading),
        (Availability::Known, Some(progress)) => progress,
    };
    let message = format!("{} of {} have the definition", progress.present, count(progress.desired, "namespace"));
    if progress.present != progress.desired {
        return finding(Status::False, SYNCING, message);
    }
    let Some(first) = &progress.first_conflict else { return finding(Status::True, SYNCED, message) };
    let more = match progress.conflicts {
        1 => String::new(),
        all => format!(" (and so in {} more)", count(all - 1, "namespace")),
    };
    let message = format!(
        "{message}; NetworkAttachmentDefinition {first}/{} is not owned by usnet{more}: rename or delete it, or exclude its namespace by the namespaceSelector",
        findings.name
    );
    finding(Status::False, NAME_CONFLICT, message)
}

fn programmed(findings: &Findings<'_>) -> Finding {
    let tally = &findings.tally;
    let finding = |status, reason: &str, message: String| Finding::new(PROGRAMMED, status, reason, message);
    if let Some(refusal) = findings.facts.refusal {
        return finding(Status::False, COMPILED_NETWORK_REFUSED, refusal.to_owned());
    }
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
    match findings.stage {
        _ if tally.selected > 0 => finding(Status::True, ALL_NODES, message),
        Stage::Rejected { reason, .. } => finding(Status::Unknown, reason, NOT_EVALUATED.to_owned()),
        _ if findings.facts.is_outdated => finding(Status::False, PENDING, "nodes were not told yet".to_owned()),
        _ => finding(Status::True, NO_MATCHING_NODES, "no node is selected".to_owned()),
    }
}
