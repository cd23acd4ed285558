//! Reservations: who has nothing but `edit` in a namespace fixes addresses for its pods, within
//! what the network allows.

use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, timeout, try_run};
use crate::support::pods::{in_pod, sleeping_pod, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const NETWORK: &str = "reserving";

fn reservation(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"network": NETWORK});
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceReservation", "metadata": {"name": name}, "spec": whole,
    })
}

/// Makes the default service account of the namespace a developer: it has `edit` there.
fn add_developer(scene: &Scene) {
    apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "developer", "namespace": scene.name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": scene.name}],
    }));
}

fn developer(scene: &Scene) -> String {
    format!("--as=system:serviceaccount:{}:default", scene.name)
}

/// What the developer of this namespace does there with `kubectl`.
fn as_developer(scene: &Scene, arguments: &[&str], input: &str) -> Result<String, String> {
    try_run("kubectl", &[arguments, &[&developer(scene), "-n", &scene.name]].concat(), input)
}

#[track_caller]
fn reserve(scene: &Scene, name: &str, spec: &Value) {
    // The role is there a moment before it is in `edit`.
    let text = reservation(name, spec).to_string();
    eventually("the reservation is written", || as_developer(scene, &["apply", "-f", "-"], &text));
}

#[track_caller]
fn await_ready(scene: &Scene, name: &str) {
    as_developer(scene, &["wait", "--for=condition=Ready", &format!("usnr/{name}"), timeout()], "").unwrap();
}

#[track_caller]
fn await_refused(scene: &Scene, name: &str, reason: &str, words: &str) {
    eventually("the reservation is refused", || {
        let object = get(&["usnr", name, "-n", &scene.name]).ok_or("no reservation")?;
        let ready = condition(&object, "Ready").cloned().unwrap_or_default();
        let is_right = ready["status"] == "False"
            && ready["reason"] == reason
            && ready["message"].as_str().is_some_and(|message| message.contains(words));
        check(is_right, ready.to_string())
    });
}

#[track_caller]
fn assert_address(scene: &Scene, pod: &str, expected: &[&str]) {
    let observed = in_pod(scene, pod, "busybox ip addr show dev net1");
    for expected in expected {
        assert!(observed.contains(&format!(" {expected} ")), "{pod}: {expected}\n{observed}");
    }
}

#[test]
fn a_developer_fixes_addresses_of_pods_within_what_the_network_allows() {
    let (own, other) = (Scene::new("reserving"), Scene::new("reserving-others"));
    for scene in [&own, &other] {
        add_developer(scene);
        kubectl(&["label", "namespace", &scene.name, "reserve=yes", "--overwrite"]);
    }
    let spec = json!({
        "port": {"type": "Veth"}, "namespaceSelector": {"matchLabels": {"reserve": "yes"}},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.62.0.0/24", "rangeEnd": "10.62.0.99"}]]},
        "reservations": {"ips": ["10.62.0.128/25"], "macs": "LocallyAdministered"},
    });
    own.network(NETWORK, &spec);

    let pods = json!({"pod": "db-{0..9}", "ips": ["10.62.0.150/24"], "mac": "02:62:00:00:00:10"});
    reserve(&own, "db", &pods);
    await_ready(&own, "db");
    apply(&sleeping_pod(&own, "db-3", NETWORK));
    wait_running(&own, "db-3");
    assert_address(&own, "db-3", &["10.62.0.153/24", "02:62:00:00:00:13"]);

    reserve(&own, "outside", &json!({"pod": "web", "ips": ["10.62.0.100/24"]}));
    await_refused(&own, "outside", "NotAllowed", "spec.ips[0]: 10.62.0.100 is not one of 10.62.0.128/25");
    reserve(&other, "thief", &json!({"pod": "web", "ips": ["10.62.0.159/24"]}));
    await_refused(
        &other,
        "thief",
        "AlreadyReserved",
        "address 10.62.0.159 belongs to a UserspaceReservation of another",
    );
    let forged = json!({"status": {"conditions": []}}).to_string();
    let patch = ["patch", "usnr", "thief", "--subresource=status", "--type=merge", "-p", &forged];
    assert!(as_developer(&other, &patch, "").unwrap_err().contains("forbidden"));
    let read = try_run("kubectl", &["get", "usnr", "-n", &own.name, &developer(&other)], "");
    assert!(read.unwrap_err().contains("forbidden"));

    // The pod keeps what it has, and the next one does not get it.
    as_developer(&own, &["delete", "usnr", "db"], "").unwrap();
    await_ready(&other, "thief");
    assert_address(&own, "db-3", &["10.62.0.153/24"]);
    own.delete_pod("db-3");
    apply(&sleeping_pod(&own, "db-3", NETWORK));
    wait_running(&own, "db-3");
    let observed = in_pod(&own, "db-3", "busybox ip addr show dev net1");
    assert!(!observed.contains("10.62.0.153/24"), "{observed}");
    kubectl(&["label", "namespace", &other.name, "reserve-"]);
    await_refused(&other, "thief", "NotAllowed", "does not select namespace reserving-others");
}
