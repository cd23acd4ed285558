//! Attachments: where they are requested, what users see, and how they end.

use super::super::cache::attachments::{FoundPod, Pod};
use super::super::write::{Target, Write};
use super::model::{Cluster, attachment_name as name};
use usnet_crds::attachment::node::REQUESTED_MAX;

/// A network, and a pod on node-b.
fn cluster() -> Cluster {
    settled(Cluster::new())
}

/// The same, without an agent on node-b from the beginning.
fn cluster_where_no_agent_has_reported() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.without_agent.insert("node-b".to_owned());
    settled(cluster)
}

fn settled(mut cluster: Cluster) -> Cluster {
    cluster.simple_network("blue");
    cluster.running_pod("web", "node-b");
    cluster.settle();
    cluster
}

#[test]
fn an_attachment_is_requested_of_the_node_of_its_pod_and_becomes_ready() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.settle();
    assert_eq!(cluster.requested("node-b"), ["web net7"]);
    assert_eq!(cluster.requested("node-a"), [""; 0]);
    let found = cluster.found_attachment("extra").unwrap();
    assert_eq!((found.owner.as_deref(), found.has_finalizer()), (Some("web-uid"), true));
    let status = found.status.clone().unwrap();
    assert_eq!(
        (status.node.as_str(), status.pod_uid.as_str(), status.socket.as_str()),
        ("node-b", "web-uid", "net7.sock")
    );
    assert_eq!(cluster.attachment_ready("extra").0, "True Attached");
}

/// Else the node could have an interface that nothing removes.
#[test]
fn finalizer_owner_and_node_are_written_before_the_node_is_told() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    let kinds = |writes: &[Write]| writes.iter().map(Write::target).collect::<Vec<_>>();
    let first = kinds(&cluster.pass());
    assert!(matches!(first[..], [Target::AttachmentMetadata(_), Target::AttachmentStatus(_)]), "{first:?}");
    let second = kinds(&cluster.pass());
    assert_eq!(second, [Target::NodeAttachments("node-b".to_owned())]);
}

/// Thousands of networks would be evaluated and written for each interface otherwise.
#[test]
fn networks_are_ready_all_the_time() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    for _ in 0..6 {
        let writes = cluster.pass();
        assert!(!writes.iter().any(|write| matches!(write, Write::Status { .. })), "{writes:?}");
        assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    }
}

#[test]
fn a_pod_that_cannot_get_an_interface_is_the_reason() {
    let pod = |change: fn(&mut Pod)| {
        let mut pod = Pod { uid: "web-uid".to_owned(), node: Some("node-b".to_owned()), ..Pod::default() };
        change(&mut pod);
        FoundPod::Present(pod)
    };
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    for (found, reason) in [
        (FoundPod::Absent, "False PodNotFound"),
        (pod(|pod| pod.node = None), "False PodNotScheduled"),
        (pod(|pod| pod.has_ended = true), "False PodEnded"),
        (pod(|pod| pod.has_host_network = true), "False HostNetwork"),
    ] {
        assert!(!found.is_usable());
        cluster.read_pod("web", found);
        cluster.settle();
        assert_eq!(cluster.attachment_ready("extra").0, reason);
        assert!(cluster.attachment_ready("extra").1.contains("team-a/web"));
    }
    assert!(!cluster.found_attachment("extra").unwrap().has_finalizer());
    cluster.running_pod("web", "node-b");
    cluster.settle();
    assert_eq!(cluster.attachment_ready("extra").0, "True Attached");
}

#[test]
fn what_is_wrong_with_the_object_is_the_reason() {
    let mut cluster = cluster();
    cluster.attachment("bad", "web", "blue", "eth0");
    cluster.attachment("unknown", "web", "nowhere", "net8");
    cluster.refused_interfaces.insert("net9".to_owned());
    cluster.attachment("refused", "web", "blue", "net9");
    cluster.settle();
    assert_eq!(cluster.attachment_ready("bad").0, "False Invalid");
    assert!(cluster.attachment_ready("bad").1.contains("spec.interface"));
    assert_eq!(cluster.attachment_ready("unknown").0, "False NetworkUnknown");
    let refused = ("False AttachFailed".to_owned(), "node node-b: no room".to_owned());
    assert_eq!(cluster.attachment_ready("refused"), refused);
    assert_eq!(cluster.requested("node-b"), ["web net9"]);
    cluster.simple_network("nowhere");
    cluster.settle();
    assert_eq!(cluster.attachment_ready("unknown").0, "True Attached");
}

#[test]
fn of_two_for_one_interface_the_older_has_it_until_it_is_gone() {
    let mut cluster = cluster();
    cluster.attachment("first", "web", "blue", "net7");
    cluster.attachment("second", "web", "blue", "net7");
    cluster.settle();
    assert_eq!(cluster.attachment_ready("first").0, "True Attached");
    let (reason, message) = cluster.attachment_ready("second");
    assert!(reason == "False InterfaceTaken" && message.contains("UserspaceAttachment first"), "{reason}: {message}");
    cluster.without_agent.insert("node-b".to_owned());
    cluster.delete_attachment("first");
    cluster.settle();
    assert_eq!(cluster.attachment_ready("first").0, "False Detaching");
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.found_attachment("first").is_none());
    assert_eq!(cluster.attachment_ready("second").0, "True Attached");
}

#[test]
fn it_is_gone_once_the_node_has_detached_it() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.settle();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.delete_attachment("extra");
    cluster.settle();
    assert_eq!(cluster.requested("node-b"), [""; 0]);
    assert!(cluster.found_attachment("extra").unwrap().has_finalizer());
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.found_attachment("extra").is_none());
}

/// Its agent detaches what it is not told of when it is back.
#[test]
fn a_node_that_is_not_reachable_is_not_waited_for() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.settle();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.node("node-b", false);
    cluster.delete_attachment("extra");
    cluster.settle();
    assert!(cluster.found_attachment("extra").is_none());
    assert_eq!(cluster.requested("node-b"), [""; 0]);
}

#[test]
fn a_pod_that_was_replaced_is_not_attached_to() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.pass();
    assert_eq!(cluster.found_attachment("extra").unwrap().owner.as_deref(), Some("web-uid"));
    let pod = Pod { uid: "other".to_owned(), node: Some("node-a".to_owned()), ..Pod::default() };
    cluster.read_pod("web", FoundPod::Present(pod));
    cluster.settle();
    assert_eq!(cluster.attachment_ready("extra").0, "False PodEnded");
    assert_eq!((cluster.requested("node-a"), cluster.requested("node-b")), (Vec::new(), Vec::new()));
}

/// Each of the new ones finds room by itself, and all of them do not.
#[test]
fn new_ones_beyond_the_limit_take_nothing_from_a_pod() {
    let mut cluster = cluster();
    let share = REQUESTED_MAX / 2;
    let old: Vec<String> = (1..share).map(|number| format!("net{number}")).collect();
    old.iter().for_each(|interface| cluster.attachment(interface, "web", "blue", interface));
    cluster.settle();
    for interface in ["new1", "new2", "new3"] {
        cluster.attachment(interface, "web", "blue", interface);
        // Before those of all others, which begin with "uid-".
        cluster.cache.attachments.objects.get_mut(&name(interface)).unwrap().uid = format!("a-{interface}");
    }
    cluster.settle();
    let requested = cluster.requested("node-b");
    assert_eq!(requested.len(), share);
    assert!(old.iter().all(|interface| requested.contains(&format!("web {interface}"))));
    let new = ["new1", "new2", "new3"].map(|interface| cluster.attachment_ready(interface).0);
    assert_eq!(new, ["True Attached", "False TooManyAttachments", "False TooManyAttachments"]);
    let message = cluster.attachment_ready("new2").1;
    let expected = "namespace team-a has its share of the 512 places for attachments on node node-b, half of what other namespaces leave: delete some, or use a pod on another node";
    assert_eq!(message, expected);
}

#[test]
fn a_namespace_finds_places_beside_one_that_wants_all() {
    let mut cluster = cluster();
    for number in 0..REQUESTED_MAX + 8 {
        let name = format!("net{number}");
        cluster.attachment(&name, "web", "blue", &name);
    }
    cluster.settle();
    assert_eq!(cluster.requested("node-b").len(), REQUESTED_MAX / 2);
    let waiting = format!("net{}", REQUESTED_MAX + 7);
    let before = cluster.attachment_ready(&waiting);
    assert_eq!(before.0, "False TooManyAttachments");
    cluster.attachment_in("team-b", "theirs", "db", "blue", "net7");
    cluster.running_pod_in("team-b", "db", "node-b");
    cluster.settle();
    assert_eq!(cluster.attachment_ready(&waiting), before, "what waits needs no write");
    assert!(cluster.requested("node-b").contains(&"db net7".to_owned()));
    // Now half of what is left is less than what the first has, which it keeps.
    assert_eq!(cluster.requested("node-b").len(), REQUESTED_MAX / 2 + 1);
    for number in 0..3 {
        cluster.delete_attachment(&format!("net{number}"));
    }
    cluster.settle();
    assert_eq!(cluster.requested("node-b").len(), REQUESTED_MAX / 2, "one more than before of the first's share");
}

/// An agent that is not there reports no end: the finalizer would stay indefinitely.
#[test]
fn nothing_is_written_for_a_node_without_an_agent() {
    let mut cluster = cluster_where_no_agent_has_reported();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.settle();
    let (reason, message) = cluster.attachment_ready("extra");
    assert!(reason == "False Attaching" && message.contains("no agent has reported on node node-b"), "{message}");
    assert!(!cluster.found_attachment("extra").unwrap().has_finalizer());
    assert_eq!(cluster.requested("node-b"), [""; 0]);
    cluster.delete_attachment("extra");
    assert!(cluster.found_attachment("extra").is_none());
    cluster.attachment("second", "web", "blue", "net7");
    cluster.settle();
    cluster.without_agent.clear();
    cluster.settle();
    assert_eq!(cluster.attachment_ready("second").0, "True Attached");
}

#[test]
fn what_was_requested_where_no_agent_has_ever_been_is_not_waited_for() {
    let mut cluster = cluster_where_no_agent_has_reported();
    cluster.attachment("extra", "web", "blue", "net7");
    // As earlier controllers did.
    let found = cluster.cache.attachments.objects.get_mut(&name("extra")).unwrap();
    (found.finalizer, found.owner) = (Some(0), Some("web-uid".to_owned()));
    cluster.settle();
    assert_eq!(cluster.requested("node-b"), ["web net7"]);
    cluster.delete_attachment("extra");
    cluster.settle();
    assert!(cluster.found_attachment("extra").is_none());
    assert_eq!(cluster.requested("node-b"), [""; 0]);
}

/// Its interfaces are there, and its agent reports them again.
#[test]
fn a_node_state_that_was_created_again_keeps_interfaces_and_finalizers() {
    let mut cluster = cluster();
    cluster.attachment("extra", "web", "blue", "net7");
    cluster.settle();
    cluster.without_agent.insert("node-b".to_owned());
    cluster.cache.states.remove("node-b");
    cluster.settle();
    assert!(cluster.cache.states["node-b"].status.is_none());
    assert_eq!(cluster.requested("node-b"), ["web net7"]);
    cluster.delete_attachment("extra");
    cluster.settle();
    assert!(cluster.found_attachment("extra").unwrap().has_finalizer());
    cluster.without_agent.clear();
    cluster.settle();
    assert!(cluster.found_attachment("extra").is_none());
}
