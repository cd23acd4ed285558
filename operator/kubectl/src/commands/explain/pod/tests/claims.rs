//! Interfaces by resource claims and by UserspaceAttachments.

use super::{check, cluster, explain};
use crate::commands::explain::text::text;
use crate::commands::pods;
use crate::model::snapshot::Event;
use crate::model::testing::{
    add, add_network, attached, condition, merge, network_object, network_report, pod_object, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};

const ANNOTATIONS: &str = "k8s.v1.cni.cncf.io/networks";

/// A cluster with the claim of web/app for a class, which is allocated and prepared as far as
/// `status` says.
fn with_claim(class: &str, status: &Value) -> Snapshot {
    let mut snapshot = cluster();
    add_network(&mut snapshot, &network_object("blue", &json!({"resourceClaims": {"ports": 4}})));
    let request = json!({"name": "port", "exactly": {"deviceClassName": class}});
    let claim = json!({
        "kind": "ResourceClaim", "metadata": {"namespace": "web", "name": "app-uplink-x"},
        "spec": {"devices": {"requests": [request]}}, "status": status,
    });
    add(&mut snapshot, &claim);
    snapshot
}

fn allocated() -> Value {
    let device = json!({"request": "port", "driver": "usnet.dev", "pool": "node-a", "device": "blue"});
    json!({"allocation": {"devices": {"results": [device]}}})
}

fn prepared() -> Value {
    let mut status = allocated();
    status["devices"] = json!([{
        "driver": "usnet.dev", "pool": "node-a", "device": "blue",
        "conditions": [condition("Ready", "True", "Attached", "")],
        "networkData": {"interfaceName": "claim1", "hardwareAddress": "02:00:00:00:00:07", "ips": ["10.1.0.7/24"]},
        "data": {"network": "blue", "directory": "/run/usnet.dev/uplink/port", "socket": "claim1.sock"},
    }]);
    status
}

/// A pod with the claim `uplink`, without annotation.
fn claiming(rest: &Value) -> Value {
    let mut pod = json!({
        "spec": {"resourceClaims": [{"name": "uplink", "resourceClaimTemplateName": "blue"}], "volumes": []},
        "status": {"resourceClaimStatuses": [{"name": "uplink", "resourceClaimName": "app-uplink-x"}]},
    });
    merge(&mut pod, rest);
    let mut pod = pod_object("app", &pod);
    pod["metadata"]["annotations"].as_object_mut().unwrap().remove(ANNOTATIONS);
    pod
}

fn running() -> Value {
    let mut pod = attached();
    pod["metadata"]["annotations"] = json!({});
    pod
}

#[test]
fn a_working_pod_with_a_claim_has_no_cause_and_is_listed() {
    let mut snapshot = with_claim("usnet-blue", &prepared());
    let report = explain(&mut snapshot, &claiming(&running()));
    assert!(report.is_ok() && report.findings.is_empty(), "{}", text(&report));
    let row = ["claim1", "blue", "claim uplink/port", "Open vSwitch VhostUser", "attached"];
    assert_eq!(report.parts.rows, [row.map(str::to_owned)]);
    let listed = pods::report::report(&snapshot, "blue", None);
    let [attached] = listed.interfaces.as_slice() else { panic!("{listed:?}") };
    assert_eq!((attached.pod.as_str(), attached.mac.as_str()), ("web/app", "02:00:00:00:00:07"));
    assert!(pods::text::text(&listed).contains("claim1 (claim uplink/port)"), "{listed:?}");
}

#[test]
fn a_program_that_does_not_use_its_claim_is_told_the_path() {
    let mut snapshot = with_claim("usnet-blue", &prepared());
    let degraded = json!([{"pod": "web/app", "uid": "uid of app", "interface": "claim1", "reason": "NotConnected", "message": "it has to listen on claim1.sock"}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 1, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let words = ["/run/usnet.dev/uplink/port/claim1.sock in container app", "attached, program not connected"];
    check(&mut snapshot, &claiming(&running()), "NotConnected", &words);
}

#[test]
fn a_device_class_that_does_not_exist_is_named() {
    let unscheduled = json!({"spec": {"nodeName": null}, "status": {"containerStatuses": null, "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 request port: device class usnet-blu does not exist."},
    ]}});
    let words = ["there is no DeviceClass usnet-blu", "write deviceClassName: usnet-blue", "claim uplink"];
    check(&mut with_claim("usnet-blu", &json!({})), &claiming(&unscheduled), "DeviceClassMissing", &words);
    let mut without = with_claim("usnet-green", &json!({}));
    add_network(&mut without, &network_object("green", &json!({})));
    check(&mut without, &claiming(&json!({})), "DeviceClassMissing", &["network green has no spec.resourceClaims"]);
}

#[test]
fn claims_that_do_not_exist_or_are_not_prepared() {
    let missing = json!({"status": {"resourceClaimStatuses": null}});
    let words = ["from ResourceClaimTemplate web/blue yet", "kubectl get resourceclaimtemplates"];
    check(&mut with_claim("usnet-blue", &json!({})), &claiming(&missing), "ClaimMissing", &words);
    let named = json!({"spec": {"resourceClaims": [{"name": "uplink", "resourceClaimName": "app-uplink-y"}]}, "status": {"resourceClaimStatuses": null}});
    let words = ["there is no ResourceClaim web/app-uplink-y", "write app-uplink-x in spec.resourceClaims"];
    check(&mut with_claim("usnet-blue", &json!({})), &claiming(&named), "ClaimMissing", &words);

    let with_event = |message: &str| {
        let mut snapshot = with_claim("usnet-blue", &allocated());
        let reason = "FailedPrepareDynamicResources".to_owned();
        let message = format!("Failed to prepare dynamic resources: {message}");
        snapshot.events.push(Event { reason, message, is_warning: true, time: None, count: 1 });
        snapshot
    };
    let driver = "prepare dynamic resources: DRA driver usnet.dev is not registered";
    check(&mut with_event(driver), &claiming(&json!({})), "DriverNotRegistered", &["the kubelet tries again"]);
    let refused = "NodePrepareResources failed for ResourceClaim x: usnet[108 AddressesExhausted]: no address left";
    check(&mut with_event(refused), &claiming(&json!({})), "AddressesExhausted", &["extend the ranges"]);
    let other = "NodePrepareResources failed for ResourceClaim x: unknown field \"vlan\" of the PortRequest";
    check(&mut with_event(other), &claiming(&json!({})), "ClaimNotPrepared", &["unknown field \"vlan\""]);
    let mut busy = with_claim("usnet-blue", &json!({}));
    let full = json!({"spec": {"nodeName": null}, "status": {"containerStatuses": null, "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/2 nodes are available: 2 cannot allocate all claims."},
    ]}});
    check(&mut busy, &claiming(&full), "NoFreePort", &["raise spec.resourceClaims.ports"]);
}

#[test]
fn a_claim_of_a_namespace_that_the_network_does_not_select() {
    let mut snapshot = with_claim("usnet-blue", &allocated());
    add(&mut snapshot, &json!({"kind": "Namespace", "metadata": {"name": "web"}}));
    check(&mut snapshot, &claiming(&json!({})), "NamespaceNotSelected", &["team=a", "of claim uplink/port"]);
}

#[test]
fn claims_of_other_drivers_are_not_of_usnet() {
    let mut snapshot = with_claim("gpu.example.com", &json!({}));
    check(&mut snapshot, &claiming(&json!({})), "NoNetworkSelected", &["claims no port"]);
    snapshot.unread_objects.insert(Objects::Claims);
    snapshot.claims.clear();
    let report = explain(&mut snapshot, &claiming(&running()));
    assert!(report.findings.is_empty(), "nothing is concluded: {}", text(&report));
}

#[test]
fn an_extended_resource_needs_no_annotation() {
    let mut snapshot = with_claim("gpu.example.com", &json!({}));
    let resource = json!([{"name": "app", "image": "app:1", "resources": {"limits": {"usnet.dev/blue": "1"}}}]);
    let mut pod = running();
    merge(&mut pod, &json!({"spec": {"containers": resource}}));
    let mut pod = pod_object("app", &pod);
    pod["metadata"]["annotations"] = json!({});
    let mut status = prepared();
    status["devices"][0]["networkData"]["interfaceName"] = json!("claim2");
    add(
        &mut snapshot,
        &json!({
            "kind": "ResourceClaim",
            "metadata": {
                "namespace": "web", "name": "app-extended", "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "app", "uid": "uid of app"}],
            },
            "spec": {"devices": {"requests": [{"name": "container-0-request-0", "exactly": {"deviceClassName": "usnet-blue"}}]}},
            "status": status,
        }),
    );
    let report = explain(&mut snapshot, &pod);
    assert!(report.findings.is_empty(), "{}", text(&report));
    assert!(text(&report).contains("resource usnet.dev/blue"), "{}", text(&report));
}

#[test]
fn an_interface_that_was_added_is_a_row() {
    let mut snapshot = cluster();
    let added = |ready: &str, reason: &str| {
        json!({
            "kind": "UserspaceAttachment", "apiVersion": "usnet.dev/v1alpha1",
            "metadata": {"namespace": "web", "name": "extra"}, "spec": {"pod": "app", "network": "blue", "interface": "net7"},
            "status": {"conditions": [condition("Ready", ready, reason, "why")], "mac": "02:00:00:00:00:09", "ips": []},
        })
    };
    add(&mut snapshot, &added("True", "Attached"));
    let mut without = running();
    without["metadata"]["annotations"] = json!({ANNOTATIONS: null});
    let report = explain(&mut snapshot, &pod_object("app", &without));
    assert!(report.findings.is_empty() && text(&report).contains("usna/extra"), "{}", text(&report));
    let listed = pods::text::text(&pods::report::report(&snapshot, "blue", None));
    assert!(listed.contains("net7 (usna/extra)") && listed.contains("02:00:00:00:00:09"), "{listed}");
    snapshot.added.clear();
    add(&mut snapshot, &added("False", "NetworkUnknown"));
    let pod = pod_object("app", &without);
    check(&mut snapshot, &pod, "NetworkUnknown", &["of usna/extra", "correct spec.network"]);
}

#[test]
fn a_selector_for_a_network_that_does_not_exist() {
    let mut snapshot = with_claim("usnet", &json!({}));
    for (network, cause) in [("blu", "UnknownNetwork"), ("blue", "Starting")] {
        let expression = format!("device.attributes['usnet.dev'].network == '{network}' && true");
        let exactly = json!({"deviceClassName": "usnet", "selectors": [{"cel": {"expression": expression}}]});
        let claim = json!({
            "kind": "ResourceClaim", "metadata": {"namespace": "web", "name": "app-uplink-x"},
            "spec": {"devices": {"requests": [{"name": "port", "exactly": exactly}]}},
        });
        snapshot.claims.clear();
        add(&mut snapshot, &claim);
        let words = if cause == "Starting" { "" } else { "write blue in the selector" };
        check(&mut snapshot, &claiming(&json!({})), cause, &[words]);
    }
}
