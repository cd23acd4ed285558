//! The cause of a pod that does not run although nothing is wrong by its objects: the newest event
//! that says why, behind the prefixes of the programs that pass it on. Pure.

use super::known_texts::{of_claim, of_sandbox};
use super::refusal::{plugin_error, shortened, tries};
use crate::commands::explain::finding::Finding;
use crate::commands::shared::age_at;
use crate::model::snapshot::Event;
use crate::model::{Objects, Pod, Snapshot};

const SANDBOX_FAILED: &str = "FailedCreatePodSandBox";
const UNSCHEDULED: &str = "FailedScheduling";
/// The events of a pod whose claims are not ready.
const OF_CLAIMS: [&str; 2] = ["FailedPrepareDynamicResources", "FailedResourceClaimCreation"];
/// The events of a pod that does not end.
const OF_ENDS: [&str; 2] = ["FailedKillPod", "FailedUnprepareDynamicResources"];
/// Warnings that do not keep a pod from running.
const HARMLESS: [&str; 3] = ["Unhealthy", "DNSConfigForming", "InspectFailed"];

/// Explains a pod that waits. There always is a cause.
pub(super) fn waiting(snapshot: &Snapshot, pod: &Pod) -> Finding {
    let is_it = |event: &&Event| event.is_warning && !HARMLESS.contains(&event.reason.as_str());
    let newest = snapshot.events.iter().rev().find(is_it);
    newest.map_or_else(|| starting(snapshot, pod), |event| of_event(snapshot, event, pod))
}

/// Explains a pod that is being deleted and does not end; `None` if it is only ending.
pub(super) fn ending(snapshot: &Snapshot, pod: &Pod) -> Option<Finding> {
    let is_it = |event: &&Event| OF_ENDS.contains(&event.reason.as_str());
    let event = snapshot.events.iter().rev().find(is_it)?;
    let node = pod.node.as_deref().unwrap_or("NAME");
    let why = format!("the pod is being deleted, and the kubelet cannot end it: {}", said(&event.message));
    let remedy = format!("act on the message; kubectl usnet explain node {node} says whether usnet works there");
    Some(Finding::new("NotEnding", why, remedy))
}

/// Explains the newest event of the claims of a pod; `None` if there is none.
pub(super) fn claims(snapshot: &Snapshot, pod: &Pod) -> Option<Finding> {
    let is_it = |event: &&Event| OF_CLAIMS.contains(&event.reason.as_str());
    snapshot.events.iter().rev().find(is_it).map(|event| of_event(snapshot, event, pod))
}

fn of_event(snapshot: &Snapshot, event: &Event, pod: &Pod) -> Finding {
    let message = said(&event.message);
    if let Some(found) = plugin_error(&event.message, tries(snapshot, &event.message)) {
        return found;
    }
    match event.reason.as_str() {
        SANDBOX_FAILED => {
            let known = of_sandbox(&event.message);
            Finding::new(known.cause, message, known.remedy)
        }
        UNSCHEDULED => not_scheduled(&event.message),
        reason if OF_CLAIMS.contains(&reason) => match of_claim(&event.message) {
            Some(known) => Finding::new(known.cause, message, known.remedy),
            None => Finding::new(
                "ClaimNotPrepared",
                message,
                "correct the claim as the message says, and create the pod again; the kubelet repeats the call until then",
            ),
        },
        reason => {
            let remedy = format!("kubectl describe pod -n {} {}", pod.namespace, pod.name);
            Finding::new(reason, message, remedy)
        }
    }
}

/// Explains a message of the scheduler for which nothing closer is known.
pub(super) fn not_scheduled(message: &str) -> Finding {
    let why = format!("the scheduler has found no node for the pod: {}", shortened(message));
    match of_claim(message) {
        Some(known) => Finding::new(known.cause, why, known.remedy),
        None => {
            Finding::new("NotScheduled", why, "change the pod's requirements, or the nodes; usnet is not involved yet")
        }
    }
}

/// Neither kubelet nor scheduler has said anything, or it could not be read.
fn starting(snapshot: &Snapshot, pod: &Pod) -> Finding {
    let age = age_at(snapshot.now, pod.created);
    let (who, where_to_look) = match &pod.node {
        Some(node) => ("the kubelet", format!("the log of the kubelet on node {node}")),
        None => ("the scheduler", "the log of the scheduler".to_owned()),
    };
    let why = match snapshot.has_read(Objects::Events) {
        true => format!("the pod was created {age} ago and does not run yet, and {who} has reported no reason"),
        false => format!("the pod was created {age} ago and does not run yet; its events could not be read"),
    };
    let remedy = format!("wait some seconds and ask again; if this stays, see {where_to_look}");
    Finding::new("Starting", why, remedy)
}

/// Returns what a message says behind the prefixes of the programs that pass it on.
fn said(message: &str) -> String {
    let from = ["Multus: ", "plugin type=", "failed to setup network for sandbox", "desc = "];
    let start = from.into_iter().find_map(|prefix| message.find(prefix)).unwrap_or_default();
    shortened(message.get(start..).unwrap_or(message))
}
