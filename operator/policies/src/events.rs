//! Events on policies, what of them nodes do not enforce, and on pods. MultiNetworkPolicies have no
//! status.

use crate::compile::Problem;
use crate::object_name::ObjectName;
use crate::observed::ObservedPolicy;
use crate::write::REQUEST_TIMEOUT;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use std::collections::BTreeMap;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use usnet_common::api::error::message;
use usnet_crds::MultiNetworkPolicy;

/// The source of the events, in `kubectl describe`.
const REPORTER: &str = "usnet-policies";
const REASON: &str = "NotEnforced";
/// The API's limit for the note of an event, in bytes.
const NOTE_MAX: usize = 1024;
/// What is left of it for problems: the last words are how many there are besides.
const PROBLEMS_MAX: usize = NOTE_MAX - 32;
/// Capacity of the queue. What does not fit is dropped, and an event never delays a policy.
const QUEUE: usize = 256;

/// What is reported of a policy or a pod.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    pub(crate) regarding: ObjectReference,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

/// The reports of policies that were queued and still apply, by their uids.
#[derive(Debug, Default)]
pub(crate) struct Reported(BTreeMap<String, String>);

impl Reported {
    /// The reports that are new. Those that no longer apply are forgotten.
    pub(crate) fn new_of(
        &mut self,
        policies: &BTreeMap<ObjectName, ObservedPolicy>,
        problems: &BTreeMap<ObjectName, Vec<Problem>>,
    ) -> Vec<Report> {
        let (mut now, mut new) = (BTreeMap::new(), Vec::new());
        for (name, problems) in problems {
            let Some(ObservedPolicy { uid, .. }) = policies.get(name) else { continue };
            let note = note(problems);
            if self.0.get(uid) != Some(&note) {
                new.push(Report { regarding: reference(name, uid), reason: REASON, note: note.clone() });
            }
            now.insert(uid.clone(), note);
        }
        self.0 = now;
        new
    }
}

fn reference(ObjectName { namespace, name }: &ObjectName, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(MultiNetworkPolicy::api_version(&()).into_owned()),
        kind: Some(MultiNetworkPolicy::kind(&()).into_owned()),
        namespace: Some(namespace.clone()),
        name: Some(name.clone()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// As many problems as have room, and at least the start of the first.
fn note(problems: &[Problem]) -> String {
    let mut note = String::new();
    for (place, problem) in problems.iter().enumerate() {
        let text = problem.to_string();
        if place > 0 && note.len() + text.len() + 2 > PROBLEMS_MAX {
            note.push_str(&format!("; and {} more", problems.len() - place));
            break;
        }
        let separator = if place > 0 { "; " } else { "" };
        let end = text.floor_char_boundary(PROBLEMS_MAX);
        note.push_str(separator);
        note.push_str(text.get(..end).unwrap_or_default());
    }
    note
}

/// Creates the queue of reports.
pub(crate) fn queue() -> (Sender<Report>, Receiver<Report>) {
    channel(QUEUE)
}

/// Publishes reports until the queue ends. A failed event is not retried. `instance` names this
/// replica.
pub(crate) async fn publish(client: Client, instance: String, mut reports: Receiver<Report>) {
    while let Some(Report { regarding, reason, note }) = reports.recv().await {
        let event = Event {
            type_: EventType::Warning,
            reason: reason.to_owned(),
            note: Some(note),
            action: "Compile".to_owned(),
            secondary: None,
        };
        let reporter = Reporter { controller: REPORTER.to_owned(), instance: Some(instance.clone()) };
        // One recorder would count events of one object as one, with the first text.
        let recorder = Recorder::new(client.clone(), reporter);
        let problem = match timeout(REQUEST_TIMEOUT, recorder.publish(&event, &regarding)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => message(&error),
            Err(_) => format!("no response within {} s", REQUEST_TIMEOUT.as_secs()),
        };
        let (namespace, name) = (regarding.namespace, regarding.name);
        tracing::warn!(namespace, name, problem, "cannot write an event");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_common::testing::api_server::{Answer, ApiServer};
    use usnet_crds::multi_network_policy::problem::{FieldProblem, PolicyProblem};
    use usnet_crds::multi_network_policy::read::ReadPolicy;

    fn problem(text: &str) -> Problem {
        let problem = PolicyProblem::NamedPort(text.to_owned());
        Problem::Field(FieldProblem { field: "spec.ingress[0].ports[0]".to_owned(), problem })
    }

    #[test]
    fn a_note_has_room_for_the_number_of_other_problems() {
        let one = note(&[problem("http")]);
        assert!(one.starts_with("spec.ingress[0].ports[0]: names of ports") && !one.contains("more"), "{one}");
        let many = note(&(0..1000).map(|number| problem(&number.to_string())).collect::<Vec<_>>());
        assert!(many.len() <= NOTE_MAX && many.matches("spec.").count() > 3, "{many}");
        assert!(many.ends_with(" more"), "{many}");
        let long = note(&[problem(&"ä".repeat(2000)), problem("b")]);
        assert!(long.len() <= NOTE_MAX && long.ends_with("ä; and 1 more"), "{long}");
    }

    #[test]
    fn what_did_not_change_is_reported_once() {
        let name = |name: &str| ObjectName { namespace: "db".to_owned(), name: name.to_owned() };
        let policy = |uid: &str| {
            let read =
                ReadPolicy { definitions: [].into(), policy: None, selectors: BTreeMap::new(), problems: Vec::new() };
            ObservedPolicy { uid: uid.to_owned(), generation: 1, read }
        };
        let mut policies = BTreeMap::from([(name("p"), policy("1")), (name("q"), policy("2"))]);
        let mut reported = Reported::default();
        let mut new = |policies: &BTreeMap<_, _>, problems: &[(&str, &str)]| {
            let problems = problems.iter().map(|(of, text)| (name(of), vec![problem(text)])).collect();
            let new = reported.new_of(policies, &problems);
            new.into_iter().filter_map(|report| report.regarding.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(new(&policies, &[("p", "a"), ("q", "a")]), "p q");
        assert_eq!(new(&policies, &[("p", "a"), ("q", "b")]), "q", "another problem");
        assert_eq!(new(&policies, &[("q", "b")]), "");
        assert_eq!(new(&policies, &[("p", "a"), ("q", "b")]), "p", "it had no problem in between");
        policies.insert(name("p"), policy("3"));
        assert_eq!(new(&policies, &[("p", "a"), ("q", "b")]), "p", "another policy of that name");
    }

    #[tokio::test]
    async fn events_of_one_policy_with_other_texts_are_events_of_their_own() {
        let answer =
            r#"{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": null}"#;
        let server = ApiServer::choosing(move |_| Some(Answer::ok(answer.to_owned())));
        let (sender, receiver) = queue();
        let name = ObjectName { namespace: "db".to_owned(), name: "p".to_owned() };
        for text in ["one", "two"] {
            let note = note(&[problem(text)]);
            sender.try_send(Report { reason: REASON, regarding: reference(&name, "1"), note }).unwrap();
        }
        drop(sender);
        publish(server.client(), "pod".to_owned(), receiver).await;
        let path = "POST /apis/events.k8s.io/v1/namespaces/db/events?";
        assert_eq!(server.requests(), [path, path]);
    }
}
