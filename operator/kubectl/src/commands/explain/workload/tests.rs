use super::read::Events;
use super::{Workload, report};
use crate::commands::explain::finding::Report;
use crate::commands::explain::text::text;
use crate::model::Snapshot;
use crate::model::testing::{add, add_network, attached, merge, network_object, pod_object, snapshot};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;
use serde_json::{Value, json};

fn deployment(wanted: i32) -> Workload {
    let labels =
        LabelSelector { match_labels: Some([("app".to_owned(), "web".to_owned())].into()), ..LabelSelector::default() };
    Workload {
        kind: "Deployment",
        namespace: "web".to_owned(),
        name: "web".to_owned(),
        selector: Selector::try_from(labels).unwrap(),
        wanted: Some(wanted),
        is_annotated: false,
    }
}

/// A pod of a ReplicaSet, with these parts replaced.
fn pod(name: &str, set: &str, rest: &Value) -> Value {
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": "r"}]);
    let mut pod = pod_object(name, &json!({"metadata": {"labels": {"app": "web"}, "ownerReferences": owner}}));
    merge(&mut pod, rest);
    pod
}

fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"metadata": {}, "involvedObject": {"kind": kind, "name": name}, "type": "Warning", "reason": reason, "message": message, "lastTimestamp": "1970-01-01T00:50:00Z"})
}

fn explain(pods: &[Value], wanted: i32, events: &Value) -> Report {
    explain_workload(&deployment(wanted), pods, events)
}

fn explain_workload(workload: &Workload, pods: &[Value], events: &Value) -> Report {
    let mut snapshot: Snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    snapshot.unread_objects.clear();
    for pod in pods {
        add(&mut snapshot, pod);
    }
    snapshot.pods.retain(|pod| workload.creates(pod));
    report(&mut snapshot, workload, &Events(serde_json::from_value(events.clone()).unwrap()))
}

#[test]
fn the_worst_pod_of_a_workload_is_explained() {
    let good = pod("web-1-a", "web-1", &attached());
    let refused =
        "Failed to create pod sandbox: Multus: [web/web-1-b/u]: error loading k8s delegates k8s args: something new";
    let waiting = pod("web-1-b", "web-1", &json!({}));
    let events = json!([event("Pod", "web-1-b", "FailedCreatePodSandBox", refused)]);
    let report = explain(&[good.clone(), waiting], 2, &events);
    let start = "deployment web/web, 2 pods, 1 without a problem; pod web/web-1-b";
    assert!(!report.is_ok() && report.subject == start, "{}", text(&report));
    assert_eq!(report.findings[0].cause, "MultusRefused", "{}", text(&report));

    let of_another = pod("web-2", "website-1", &json!({}));
    let report = explain(&[good, of_another], 1, &json!([]));
    assert!(report.is_ok() && report.findings.is_empty(), "{}", text(&report));
    assert!(report.subject.contains("1 pod, 1 without a problem"), "{}", report.subject);
}

#[test]
fn pods_that_the_api_server_refuses_are_explained() {
    let refused =
        json!([event("ReplicaSet", "web-1", "FailedCreate", "pods \"web-1-x\" is forbidden: exceeded quota: small")]);
    let report = explain(&[], 1, &refused);
    assert!(!report.is_ok() && text(&report).contains("exceeded quota"), "{}", text(&report));
    assert_eq!(report.findings[0].cause, "PodsNotCreated");
    let good = pod("web-1-a", "web-1", &attached());
    let report = explain(std::slice::from_ref(&good), 2, &refused);
    assert!(!report.is_ok() && text(&report).contains("exceeded quota"), "one of two: {}", text(&report));
    assert!(explain(&[good], 1, &refused).is_ok(), "the event is old");
    let report = explain(&[], 0, &json!([]));
    assert!(!report.is_ok() && text(&report).contains("--replicas=1"), "{}", text(&report));
}

#[test]
fn an_annotation_at_the_workload_is_not_read() {
    let annotated = Workload { is_annotated: true, ..deployment(1) };
    let mut without = pod("web-1-a", "web-1", &attached());
    without["metadata"]["annotations"] = json!({});
    let report = explain_workload(&annotated, &[without], &json!([]));
    let causes: Vec<&str> = report.findings.iter().map(|found| found.cause.as_str()).collect();
    assert_eq!(causes, ["AnnotationMisplaced"], "{}", text(&report));
    assert!(text(&report).contains("spec.template.metadata.annotations"), "{}", text(&report));
    let with = pod("web-1-a", "web-1", &attached());
    assert!(explain_workload(&annotated, &[with], &json!([])).is_ok(), "the pods have it as well");
}
