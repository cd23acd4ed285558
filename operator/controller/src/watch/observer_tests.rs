//! Pods that were read for attachments.

use super::observer::Observer;
use super::update::{ObjectEvent, WatchUpdate};
use crate::cache::attachments::{Attachment, FoundPod, ObjectName, Pod};
use crate::cache::{NodeState, NodeStatus, parse};
use crate::write::Target;
use kube::runtime::watcher::Event;
use serde_json::json;

fn name(name: &str) -> ObjectName {
    ObjectName { namespace: "team-a".to_owned(), name: name.to_owned() }
}

fn attachment(name: &str) -> (ObjectName, Attachment) {
    let object = json!({
        "metadata": {"name": name, "namespace": "team-a", "uid": name},
        "spec": {"pod": "web", "network": "blue", "interface": "net7"},
    });
    parse::attachment(&serde_json::from_str(&object.to_string()).unwrap())
}

fn see(observer: &mut Observer, seen: ObjectEvent) {
    observer.apply(WatchUpdate::found(1, seen));
}

fn see_attachment(observer: &mut Observer, event: Event<(ObjectName, Attachment)>) {
    see(observer, ObjectEvent::Attachment(Box::new(event)));
}

fn see_node(observer: &mut Observer, state: NodeState) {
    see(observer, ObjectEvent::NodeState(Event::Apply(("node-b".to_owned(), state))));
}

fn read_pod(observer: &mut Observer) {
    let pod = Pod { uid: "web-uid".to_owned(), node: Some("node-b".to_owned()), ..Pod::default() };
    see(observer, ObjectEvent::Pod(name("web"), FoundPod::Present(pod)));
}

fn is_known(observer: &mut Observer) -> bool {
    observer.cache().attachments.pods.contains_key(&name("web"))
}

/// The pod is gone too, if it was the owner.
#[test]
fn a_pod_is_read_again_when_an_attachment_of_it_came_or_went() {
    let mut observer = Observer::default();
    see_attachment(&mut observer, Event::Apply(attachment("first")));
    read_pod(&mut observer);
    see_attachment(&mut observer, Event::Apply(attachment("first")));
    assert!(is_known(&mut observer));
    see_attachment(&mut observer, Event::Apply(attachment("second")));
    assert!(!is_known(&mut observer));
    read_pod(&mut observer);
    observer.take_dirty();
    see_attachment(&mut observer, Event::Delete(attachment("first")));
    assert!(!is_known(&mut observer));
    assert!(observer.take_dirty().attachments.contains(&name("second")), "it waits for the pod");
    read_pod(&mut observer);
    observer.apply(WatchUpdate::absent(&Target::AttachmentStatus(name("second"))));
    assert!(!is_known(&mut observer));
}

#[test]
fn a_pod_without_attachments_is_not_kept() {
    let mut observer = Observer::default();
    read_pod(&mut observer);
    assert!(!is_known(&mut observer));
}

fn requested(uids: &[&str], generation: i64) -> NodeState {
    let entry = |uid: &&str| {
        let entry = json!({
            "uid": uid, "namespace": "team-a", "name": "extra", "pod": "web", "podUID": "web-uid", "network": "blue",
            "interface": "net7",
        });
        serde_json::from_value(entry).unwrap()
    };
    NodeState { generation, attachments: uids.iter().map(entry).collect(), ..NodeState::default() }
}

/// While many are deleted, the agent is always behind the last change.
#[test]
fn it_is_remembered_since_when_an_attachment_is_not_requested() {
    let mut observer = Observer::default();
    let since =
        |observer: &mut Observer| ["a", "b"].map(|uid| observer.cache().states["node-b"].unrequested_since(uid));
    see_node(&mut observer, requested(&["a", "b", "c"], 5));
    see_node(&mut observer, requested(&["b", "c"], 6));
    assert_eq!(since(&mut observer), [6, 6]);
    see_node(&mut observer, requested(&["c"], 7));
    see_node(&mut observer, requested(&[], 8));
    assert_eq!(since(&mut observer), [6, 7]);
    see_node(&mut observer, requested(&["a"], 9));
    assert_eq!(since(&mut observer), [9, 7], "it is requested again");
    // Of another object nothing is known.
    see_node(&mut observer, NodeState { uid: "other".to_owned(), generation: 1, ..NodeState::default() });
    assert_eq!(since(&mut observer), [1, 1]);
}

#[test]
fn a_pod_is_read_again_when_its_node_takes_attachments() {
    let mut observer = Observer::default();
    see_node(&mut observer, NodeState::default());
    see_attachment(&mut observer, Event::Apply(attachment("first")));
    read_pod(&mut observer);
    see_node(&mut observer, NodeState { status: Some(NodeStatus::default()), ..NodeState::default() });
    assert!(!is_known(&mut observer));
    read_pod(&mut observer);
    let status = NodeStatus { through: 7, ..NodeStatus::default() };
    see_node(&mut observer, NodeState { status: Some(status), ..NodeState::default() });
    assert!(is_known(&mut observer), "agents report all the time");
}
