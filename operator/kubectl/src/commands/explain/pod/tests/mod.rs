//! Each test makes one mistake, and checks the cause that is found. Without the mistake there is
//! none.
//!
//! - [`annotations`]: mistakes in the annotation, and texts of other programs;
//! - [`networks`], [`volumes`]: networks and their definitions, and the volume of the socket;
//! - [`pods`]: pods that are not started;
//! - [`programs`]: programs that are not connected;
//! - [`claims`]: resource claims and UserspaceAttachments;
//! - [`rights`]: users who may read little.

mod annotations;
mod claims;
mod networks;
mod pods;
mod programs;
mod rights;
mod volumes;

use super::report;
use crate::commands::explain::finding::Report;
use crate::commands::explain::text::text;
use crate::model::snapshot::Event;
use crate::model::testing::{
    add, add_network, attached, compiled_object, network_object, network_report, pod_object, snapshot, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};

const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// Network blue, and pod web/app that waits for its containers.
fn cluster() -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    snapshot.unread_objects.clear();
    snapshot
}

/// Explains this pod, which is the only one in the snapshot.
fn explain(snapshot: &mut Snapshot, pod: &Value) -> Report {
    snapshot.pods.clear();
    add(snapshot, pod);
    report(snapshot, &snapshot.pods[0])
}

/// The causes with which usnet has done its part.
const WARNINGS: &[&str] = &["NotConnected"];

#[track_caller]
fn check(snapshot: &mut Snapshot, pod: &Value, cause: &str, words: &[&str]) {
    check_with(WARNINGS.contains(&cause), snapshot, pod, (cause, words));
}

#[track_caller]
fn check_with(is_ok: bool, snapshot: &mut Snapshot, pod: &Value, (cause, words): (&str, &[&str])) {
    let report = explain(snapshot, pod);
    let causes: Vec<_> = report.findings.iter().map(|finding| finding.cause.as_str()).collect();
    assert_eq!(causes, [cause], "{}", text(&report));
    assert_eq!(report.is_ok(), is_ok, "{}", text(&report));
    for word in words {
        assert!(text(&report).contains(word), "no {word:?} in\n{}", text(&report));
    }
}

fn waiting() -> Value {
    pod_object("app", &json!({}))
}

fn selecting(networks: &str) -> Value {
    pod_object("app", &json!({"metadata": {"annotations": {NETWORKS: networks}}}))
}

fn sandbox_failed(snapshot: &mut Snapshot, message: &str) {
    let message =
        format!("Failed to create pod sandbox: plugin type=\"multus-shim\" failed (add): [web/app/u:blue]: {message}");
    let reason = "FailedCreatePodSandBox".to_owned();
    snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 9 });
}

/// The last sentence says where refused frames are counted.
fn allowed(snapshot: &mut Snapshot) -> Vec<String> {
    let report = explain(snapshot, &pod_object("app", &attached_of_blue()));
    assert!(report.allowed.iter().all(|one| text(&report).contains(one)), "{}", text(&report));
    report.allowed.iter().map(|one| one.split(", and from nothing else").next().unwrap().to_owned()).collect()
}

fn attached_of_blue() -> Value {
    let mut pod = attached();
    pod["metadata"]["annotations"][NETWORKS] = json!("blue");
    pod
}

#[test]
fn what_an_interface_may_send_from_is_said_where_its_network_checks_it() {
    let mut snapshot = cluster();
    assert_eq!(allowed(&mut snapshot), Vec::<String>::new());
    let pairs = json!([{"ip": "10.56.217.9"}, {"ip": "10.56.217.100", "mac": "00:00:5e:00:01:05"}]);
    for (anti_spoofing, pairs, expected) in [
        ("MAC", json!([]), "net1 may send from 02:00:00:00:00:01"),
        ("Address", json!([]), "net1 may send from 10.56.217.4 with 02:00:00:00:00:01"),
        (
            "Address",
            pairs,
            "net1 may send from 10.56.217.4 with 02:00:00:00:00:01 and 10.56.217.9 with 02:00:00:00:00:01 and 10.56.217.100 with 00:00:5e:00:01:05",
        ),
    ] {
        let attachments = json!([{"namespace": "web", "pod": "app", "allowedAddressPairs": pairs}]);
        let spec = json!({"port": {"antiSpoofing": anti_spoofing}, "attachments": attachments});
        add_network(&mut snapshot, &network_object("blue", &spec));
        assert_eq!(allowed(&mut snapshot), [expected]);
    }
}

#[test]
fn policies_of_an_interface_are_named_where_its_network_has_them() {
    let mut snapshot = cluster();
    let mut said = |policies: &str, is_read: bool, compiled: &[(&str, &str, &str, &str)]| -> Vec<String> {
        let spec = json!({"port": {"antiSpoofing": "Address"}, "policies": policies});
        add_network(&mut snapshot, &network_object("blue", &spec));
        snapshot.policies.clear();
        for (namespace, name, network, direction) in compiled {
            let spec =
                json!({"namespace": namespace, "name": name, "networks": [network], "generation": 1, (*direction): []});
            add(
                &mut snapshot,
                &json!({
                    "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledPolicy", "metadata": {"name": name}, "spec": spec,
                }),
            );
        }
        snapshot.unread_objects = if is_read { [].into() } else { [Objects::Policies].into() };
        let all = explain(&mut snapshot, &pod_object("app", &attached_of_blue())).allowed;
        all.into_iter().filter_map(|one| one.strip_prefix("network blue has policies").map(str::to_owned)).collect()
    };
    let known = [("web", "a", "blue", "ingress"), ("web", "b", "blue", "ingress"), ("web", "c", "blue", "egress")];
    let none: [String; 0] = [];
    assert_eq!(said("Disabled", true, &known), none);
    let unknown = ", and which of them restrict net1 is unknown: CompiledPolicies were not read";
    assert_eq!(said("Enabled", false, &known), [unknown]);
    let some = ": net1 may get the connections that web/a, web/b allow and open the connections that web/c allow";
    assert_eq!(said("Enabled", true, &known), [some]);
    let others = [("db", "a", "blue", "ingress"), ("web", "b", "red", "egress")];
    assert_eq!(said("Enabled", true, &others), [": net1 may get all connections and open all connections"]);
}

#[test]
fn a_pod_without_a_mistake_has_no_cause() {
    let mut snapshot = cluster();
    check(&mut snapshot, &waiting(), "Starting", &["created 10m ago", "log of the kubelet on node node-a"]);
    add(
        &mut snapshot,
        &state_object(
            "node-a",
            &json!([network_report("blue", "Programmed", &json!({"attachments": 1, "connected": 1}))]),
        ),
    );
    let report = explain(&mut snapshot, &pod_object("app", &attached()));
    assert_eq!(report.findings, []);
    assert_eq!(
        report.parts.rows,
        [["net1", "blue", "web/blue", "Open vSwitch VhostUser", "attached, program connected"].map(str::to_owned)]
    );
}

#[test]
fn nothing_is_concluded_from_what_cannot_be_read() {
    let mut snapshot = cluster();
    snapshot.definitions.clear();
    snapshot.usnet_pods.clear();
    snapshot.cache.namespaces.clear();
    for (part, what) in
        [(Objects::Definitions, "definitions"), (Objects::UsnetPods, "pods"), (Objects::Namespaces, "namespaces")]
    {
        snapshot.mark_unread(part, what, "you may not read them");
    }
    check(&mut snapshot, &waiting(), "Starting", &["NOT READ"]);
    sandbox_failed(&mut snapshot, "cannot find a network-attachment-definition (blue) in namespace (web)");
    check(&mut snapshot, &waiting(), "DefinitionMissing", &["cannot find a network-attachment-definition"]);
}

#[test]
fn each_interface_of_usnet_has_its_own_cause() {
    let mut snapshot = cluster();
    let foreign = json!({"kind": "NetworkAttachmentDefinition", "metadata": {"namespace": "web", "name": "mac"}, "spec": {"config": r#"{"type": "macvlan"}"#}});
    add(&mut snapshot, &foreign);
    let green = network_object("green", &json!({"nodeSelector": {"matchLabels": {"rack": "b"}}}));
    add_network(&mut snapshot, &green);
    assert_eq!(compiled_object(&green)["spec"]["nodeSelector"]["matchLabels"]["rack"], "b");
    let report = explain(&mut snapshot, &selecting("blue,mac,green@fast,oops"));
    let found: Vec<_> = report.findings.iter().map(|it| (it.cause.as_str(), it.subject.as_str())).collect();
    assert_eq!(found, [("NodeNotSelected", "fast, network green"), ("UnknownNetwork", "net4, network oops")]);
    let states: Vec<_> = report.parts.rows.iter().map(|row| row[4].as_str()).collect();
    assert_eq!(
        states,
        ["not attached", "not of usnet", "not attached: NodeNotSelected", "not attached: UnknownNetwork"]
    );
}
