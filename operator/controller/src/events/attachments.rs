//! Attachments with a problem of their own: an event on the pod for each interface, once when an
//! agent begins to report it. Agents have no right to create events, nor to read pods. Pure.

use super::record::{EventRecord, EventType, pod_reference};
use crate::cache::NodeStatus;
use k8s_openapi::api::core::v1::ObjectReference;
use std::collections::BTreeSet;
use usnet_crds::conditions::reason::{Place, names_of};
use usnet_crds::node_state::DegradedAttachment;

/// The events for the attachments that `now` reports and `before` did not. Without an earlier
/// report nothing is new: an earlier leader has seen it.
pub fn degraded(before: Option<&NodeStatus>, now: Option<&NodeStatus>) -> Vec<EventRecord> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let known: BTreeSet<_> = entries(before).map(identity).collect();
    entries(now).filter(|entry| !known.contains(&identity(entry))).filter_map(record).collect()
}

fn entries(status: &NodeStatus) -> impl Iterator<Item = &DegradedAttachment> {
    status.reports.values().flat_map(|report| &report.degraded)
}

fn identity(entry: &DegradedAttachment) -> (&str, &str, &str) {
    (&entry.uid, &entry.interface, &entry.reason)
}

/// The event; none for a reason that this release does not know, because the token of an agent can
/// be stolen.
fn record(entry: &DegradedAttachment) -> Option<EventRecord> {
    // Events of one object and reason are counted as one, with the first text, unless they are
    // about different parts of it.
    let field_path = Some(format!("interfaces{{{}}}", entry.interface));
    let regarding = ObjectReference { field_path, ..pod_reference(&entry.pod, &entry.uid)? };
    let is_known = names_of(Place::Interface).any(|known| known == entry.reason);
    is_known.then(|| EventRecord {
        regarding,
        kind: EventType::Warning,
        reason: entry.reason.clone(),
        message: entry.message.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason::{NO_MEMORY, NOT_CONNECTED, SOCKET_UNUSABLE};
    use usnet_crds::node_state::{NetworkReport, NetworkState};

    fn entry(pod: &str, reason: &str) -> DegradedAttachment {
        let (uid, interface) = (format!("uid of {pod}"), "net1".to_owned());
        let message = "it has to listen".to_owned();
        DegradedAttachment { pod: pod.to_owned(), uid, interface, reason: reason.to_owned(), message }
    }

    fn status(degraded: &[DegradedAttachment]) -> NodeStatus {
        let report = NetworkReport {
            name: "blue".into(),
            generation: 1,
            state: NetworkState::Programmed,
            reason: String::new(),
            message: String::new(),
            attachments: 3,
            connected: 0,
            pods: Vec::new(),
            degraded: degraded.to_vec(),
        };
        NodeStatus { reports: [("blue".to_owned(), report)].into(), ..NodeStatus::default() }
    }

    #[test]
    fn an_attachment_that_begins_to_be_reported_is_one_event_of_its_pod() {
        let (one, other) = (entry("db/mysql-0", NOT_CONNECTED), entry("web/nginx", NOT_CONNECTED));
        let (before, now) = (status(std::slice::from_ref(&other)), status(&[one.clone(), other.clone()]));
        let events = degraded(Some(&before), Some(&now));
        let [event] = events.as_slice() else { panic!("{events:?}") };
        let regarding = &event.regarding;
        assert_eq!((regarding.kind.as_deref(), regarding.namespace.as_deref()), (Some("Pod"), Some("db")));
        assert_eq!((regarding.name.as_deref(), regarding.uid.as_deref()), (Some("mysql-0"), Some("uid of db/mysql-0")));
        assert_eq!((event.reason.as_str(), event.message.as_str()), (NOT_CONNECTED, "it has to listen"));
        assert_eq!(degraded(Some(&now), Some(&now)), []);
        assert_eq!(degraded(Some(&now), Some(&before)), [], "it is over");
        assert_eq!(degraded(None, Some(&now)), [], "an earlier leader has reported it");
        let again = DegradedAttachment { reason: SOCKET_UNUSABLE.to_owned(), ..other };
        assert_eq!(degraded(Some(&now), Some(&status(&[one, again]))).len(), 1);
    }

    #[test]
    fn each_interface_of_a_pod_has_its_own_event() {
        let interfaces = ["net1", "net2"];
        let entry =
            |interface: &str| DegradedAttachment { interface: interface.to_owned(), ..entry("web/a", NO_MEMORY) };
        let events = degraded(Some(&status(&[])), Some(&status(&interfaces.map(entry))));
        let parts: Vec<_> = events.iter().map(|event| event.regarding.field_path.as_deref()).collect();
        assert_eq!(parts, [Some("interfaces{net1}"), Some("interfaces{net2}")]);
        let objects: BTreeSet<_> = events.iter().map(|event| event.regarding.uid.as_deref()).collect();
        assert_eq!(objects, [Some("uid of web/a")].into());
    }

    #[test]
    fn what_is_not_known_is_no_event() {
        let now = status(&[entry("db/mysql-0", "Anything"), entry("no-namespace", NOT_CONNECTED)]);
        assert_eq!(degraded(Some(&status(&[])), Some(&now)), []);
    }
}
