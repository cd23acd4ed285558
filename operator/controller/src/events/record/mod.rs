//! Which condition transitions are reported as Events, pure. Events complement the status, as the
//! Kubernetes API conventions ask: the status holds the current state; Events report what happened
//! and expire after an hour.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
pub use kube::runtime::events::EventType;
use std::collections::BTreeSet;
use usnet_crds::conditions::message::network::SEE_READY;
use usnet_crds::conditions::reason::{DEFINITION_REFUSED, NAME_CONFLICT, PENDING, SYNCING, TERMINATING};
use usnet_crds::conditions::{ACCEPTED, DEFINITIONS_READY, DELETION_BLOCKED, READY, STALLED, Status, find};
use usnet_crds::{UserspaceNetwork, UserspaceUplink};

/// The reason of the event that a network is ready.
const BECAME_READY: &str = "Ready";

#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// The regarding object, of any kind. Without a namespace the event is created in `default`, as
    /// Kubernetes does for Nodes.
    pub regarding: ObjectReference,
    /// Normal, or Warning when operator action may be required.
    pub kind: EventType,
    /// The reason in CamelCase, mostly that of a condition.
    pub reason: String,
    /// What happened and what to do. The text is truncated to the 1024 bytes that the API accepts.
    pub message: String,
}

/// The object reference of a network.
pub fn network_reference(name: &str, uid: &str) -> ObjectReference {
    reference::<UserspaceNetwork>(name, uid)
}

/// The object reference of an uplink.
pub(super) fn uplink_reference(name: &str, uid: &str) -> ObjectReference {
    reference::<UserspaceUplink>(name, uid)
}

/// The object reference of a pod that an agent names as namespace/name.
pub(super) fn pod_reference(pod: &str, uid: &str) -> Option<ObjectReference> {
    let (namespace, name) = pod.split_once('/')?;
    Some(ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    })
}

fn reference<K: Resource<DynamicType = ()>>(name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// The transitions between two sets of conditions of one object. Conditions often share a reason;
/// each reason is reported once.
pub fn transitions(regarding: &ObjectReference, old: &[Condition], new: &[Condition]) -> Vec<EventRecord> {
    let mut reported = BTreeSet::new();
    let kinds = [READY, ACCEPTED, DEFINITIONS_READY, STALLED, DELETION_BLOCKED].into_iter();
    let changed =
        kinds.filter_map(|kind| find(new, kind).filter(|condition| is_reportable(find(old, kind), condition)));
    let reportable = changed.filter(|condition| reported.insert(condition.reason.clone()));
    let ready = find(new, READY);
    reportable.map(|condition| record(regarding, condition, ready)).collect()
}

/// Status Unknown, an accepted spec and regular NAD progress are not reported; a NAD that usnet
/// does not own is, and one that a namespace refuses.
fn is_reportable(old: Option<&Condition>, new: &Condition) -> bool {
    let is_same = old.is_some_and(|old| old.status == new.status && old.reason == new.reason);
    let is_expected = match new.type_.as_str() {
        ACCEPTED => new.status == Status::True.as_str(),
        DEFINITIONS_READY => ![NAME_CONFLICT, DEFINITION_REFUSED].contains(&new.reason.as_str()),
        _ => false,
    };
    !is_same && !is_expected && new.status != Status::Unknown.as_str()
}

fn record(regarding: &ObjectReference, condition: &Condition, ready: Option<&Condition>) -> EventRecord {
    let with_message = ready.filter(|_| condition.message == SEE_READY).unwrap_or(condition);
    let is_ready = condition.type_ == READY && condition.status == Status::True.as_str();
    let reason = if is_ready { BECAME_READY } else { &condition.reason };
    // Ongoing work needs no attention.
    let is_normal = is_ready || [PENDING, SYNCING, TERMINATING].contains(&reason);
    EventRecord {
        regarding: regarding.clone(),
        kind: if is_normal { EventType::Normal } else { EventType::Warning },
        reason: reason.to_owned(),
        message: with_message.message.clone(),
    }
}

#[cfg(test)]
mod tests;
