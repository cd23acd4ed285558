//! Which transitions of an object are worth an event, pure. Events are beside the status, as the Kubernetes API conventions ask: the status says how things
//! are, events say what happened and expire after an hour.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
pub use kube::runtime::events::EventType;
use std::collections::BTreeSet;
use usnet_crds::UserspaceNetwork;
use usnet_crds::conditions::reason::{NAME_CONFLICT, PENDING, SYNCING, TERMINATING};
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, DELETION_BLOCKED, READY, STALLED, Status, find};

/// The reason of the event that a network is ready.
const BECAME_READY: &str = "Ready";

/// One event to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The object that it is about, of any kind. Without a namespace the event goes to `default`, as Kubernetes does for its nodes.
    pub regarding: ObjectReference,
    /// Normal, or Warning for what a person may have to mend.
    pub kind: EventType,
    /// One word in CamelCase, mostly the reason of a condition.
    pub reason: String,
    /// What happened and what to do. The API takes 1024 bytes; what is longer is cut off.
    pub message: String,
}

/// Names a network in an event.
pub fn network_reference(name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(UserspaceNetwork::api_version(&()).into_owned()),
        kind: Some(UserspaceNetwork::kind(&()).into_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// What changed between two sets of conditions of one object, each reason once: conditions often share one.
pub fn transitions(regarding: &ObjectReference, old: &[Condition], new: &[Condition]) -> Vec<Notice> {
    let mut told = BTreeSet::new();
    let kinds = [READY, ACCEPTED, DEFINITIONS_READY, STALLED, DELETION_BLOCKED].into_iter();
    let changed = kinds.filter_map(|kind| find(new, kind).filter(|condition| is_news(find(old, kind), condition)));
    let worth_telling = changed.filter(|condition| told.insert(condition.reason.clone()));
    worth_telling.map(|condition| notice(regarding, condition)).collect()
}

/// A status that is unknown, a spec that is accepted and definitions that follow are not worth an event; a definition of another owner is.
fn is_news(old: Option<&Condition>, new: &Condition) -> bool {
    let is_same = old.is_some_and(|old| old.status == new.status && old.reason == new.reason);
    let is_expected = match new.type_.as_str() {
        ACCEPTED => new.status == Status::True.as_str(),
        DEFINITIONS_READY => new.reason != NAME_CONFLICT,
        _ => false,
    };
    !is_same && !is_expected && new.status != Status::Unknown.as_str()
}

fn notice(regarding: &ObjectReference, condition: &Condition) -> Notice {
    let is_ready = condition.type_ == READY && condition.status == Status::True.as_str();
    let reason = if is_ready { BECAME_READY } else { &condition.reason };
    // Work that goes on by itself is nothing to worry about.
    let is_normal = is_ready || [PENDING, SYNCING, TERMINATING].contains(&reason);
    Notice {
        regarding: regarding.clone(),
        kind: if is_normal { EventType::Normal } else { EventType::Warning },
        reason: reason.to_owned(),
        message: condition.message.clone(),
    }
}

#[cfg(test)]
mod tests;
