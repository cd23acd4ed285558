//! The rights that the commands need, which docs/kubectl-usnet.md lists.

use super::{list, text};
use crate::support::cluster::{apply, kubectl, run, try_run};
use crate::support::kubectl_usnet::{kubeconfig, usnet};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const READER: &str = "ask-reader";

/// The rights of the documentation, with `exec` verbs of `pods/exec`.
fn roles(namespace: &str, exec: &[&str]) -> Value {
    let list = json!(["list"]);
    let everywhere = json!([
        {"apiGroups": ["usnet.dev"], "verbs": list,
         "resources": ["userspacenetworks", "userspacenodestates", "compilednetworks", "userspaceuplinks",
                       "userspaceattachments", "userspacereservations", "userspaceengines", "compiledpolicies", "userspacepodslices"]},
        {"apiGroups": [""], "resources": ["nodes", "namespaces", "pods", "events"], "verbs": list},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["network-attachment-definitions"], "verbs": list},
        // Pods of other tests may have claims.
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": list},
    ]);
    let in_usnet = json!([
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": exec},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
    ]);
    bound(namespace, &everywhere, &in_usnet)
}

/// Besides, those for the bundle of diagnostics.
fn roles_for_bundles(namespace: &str) -> Value {
    let mut roles = roles(namespace, &["create", "get"]);
    let items = roles["items"].as_array_mut().unwrap();
    let mut add = |kind: &str, rules: &[Value]| {
        let role = items.iter_mut().find(|item| item["kind"] == kind).unwrap();
        role["rules"].as_array_mut().unwrap().extend_from_slice(rules);
    };
    add(
        "Role",
        &[
            json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}),
            json!({"apiGroups": ["apps"], "resources": ["deployments", "daemonsets"], "verbs": ["list"]}),
            json!({"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}),
            json!({"apiGroups": [""], "resources": ["events"], "verbs": ["list"]}),
        ],
    );
    add(
        "ClusterRole",
        &[
            json!({"apiGroups": ["usnet.dev"], "resources": ["userspacenodeslices", "userspaceattachments"],
                   "verbs": ["list"]}),
            json!({"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceslices", "deviceclasses"],
                   "verbs": ["list"]}),
            json!({"apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingadmissionpolicies"],
                   "verbs": ["list"]}),
        ],
    );
    roles
}

/// The rights for `kubectl usnet test`, which creates namespaces, networks and pods.
fn roles_for_tests(namespace: &str) -> Value {
    let mut roles = roles(namespace, &["create", "get"]);
    let items = roles["items"].as_array_mut().unwrap();
    let role = items.iter_mut().find(|item| item["kind"] == "ClusterRole").unwrap();
    let verbs = json!(["create", "get", "list", "delete"]);
    role["rules"].as_array_mut().unwrap().extend([
        json!({"apiGroups": [""], "resources": ["namespaces", "pods"], "verbs": verbs}),
        json!({"apiGroups": ["usnet.dev"], "resources": ["userspacenetworks"], "verbs": verbs}),
        json!({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}),
    ]);
    roles
}

/// Roles of a ServiceAccount in the whole cluster, and in the namespace of usnet.
fn bound(namespace: &str, everywhere: &Value, in_usnet: &Value) -> Value {
    let metadata = json!({"name": READER, "namespace": "usnet-system"});
    let reference = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": READER});
    let subjects = json!([{"kind": "ServiceAccount", "name": READER, "namespace": namespace}]);
    let api = "rbac.authorization.k8s.io/v1";
    let cluster_binding = "ClusterRoleBinding";
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": READER, "namespace": namespace}},
        {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": READER}, "rules": everywhere},
        {"apiVersion": api, "kind": cluster_binding, "metadata": {"name": READER},
         "roleRef": reference("ClusterRole"), "subjects": subjects},
        {"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": in_usnet},
        {"apiVersion": api, "kind": "RoleBinding", "metadata": metadata, "roleRef": reference("Role"), "subjects": subjects},
    ]})
}

/// Deletes the rights, even if the test fails.
struct Granted;

impl Drop for Granted {
    fn drop(&mut self) {
        for kind in ["clusterrolebinding", "clusterrole"] {
            let _failed = try_run("kubectl", &["delete", kind, READER], "");
        }
        for kind in ["rolebinding", "role"] {
            let _failed = try_run("kubectl", &["delete", kind, READER, "-n", "usnet-system"], "");
        }
    }
}

#[test]
fn the_documented_rights_are_enough_and_without_exec_the_rest_is_reported() {
    let scene = Scene::new(READER);
    scene.network(READER, &json!({}));
    let granted = Granted;
    apply(&roles(&scene.name, &["create", "get"]));
    let config = kubeconfig(&scene.name, READER);
    let config = config.path().to_str().unwrap();
    let ask = |arguments: &[&str]| usnet(&[arguments, &["-o", "json", "--kubeconfig", config]].concat());
    let not_read = |arguments: &[&str]| {
        let answer = ask(arguments);
        assert!([0, 1].contains(&answer.status), "{arguments:?}: {answer:?}");
        answer.report()["notRead"].take()
    };
    for arguments in [
        ["status"].as_slice(),
        &["pods", READER, "--from-nodes"],
        &["history", "--network", READER],
        &["explain", "network", READER],
        &["explain", "node", "node-a"],
        &["version"],
    ] {
        assert_eq!(not_read(arguments), Value::Null, "{arguments:?}");
    }
    apply(&roles(&scene.name, &["list"]));
    assert_eq!(not_read(&["status"]), Value::Null);
    let report = ask(&["history", "--network", READER]).report();
    let missing = list(&report, "notRead");
    assert!(!missing.is_empty() && list(&report, "changes").is_empty(), "{report}");
    for gap in missing {
        println!("{gap}");
        assert!(text(gap, "why").contains("pods/exec"), "{gap}");
    }

    kubectl(&["delete", "clusterrolebinding", READER]);
    let answer = ask(&["status"]);
    assert_eq!(answer.status, 4, "{answer:?}");
    assert!(answer.stderr.contains("you may not read"), "{answer:?}");
    drop(granted);
}

#[test]
fn the_documented_rights_are_enough_to_trace_to_test_and_for_a_bundle() {
    let scene = Scene::new(READER);
    scene.network(READER, &json!({}));
    let _granted = Granted;
    apply(&roles(&scene.name, &["create", "get"]));
    let config = kubeconfig(&scene.name, READER);
    let config = config.path().to_str().unwrap();
    let ask = |arguments: &[&str]| usnet(&[arguments, &["-o", "json", "--kubeconfig", config]].concat());
    for name in ["left", "right"] {
        start(&scene, &sleeping_pod(&scene, name, READER));
    }
    let traced = ask(&["trace", "left", "right", "-n", READER]);
    assert_eq!(text(&traced.report()["conclusion"], "cause"), "NotConnected", "{traced:?}");
    let refused = ask(&["test", "--engine=OVS", "--node", NODE]);
    assert!(refused.status == 1 && refused.stdout.contains("namespaces is forbidden"), "{refused:?}");

    apply(&roles_for_bundles(&scene.name));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle.tar.gz");
    let bundle = usnet(&["support-bundle", "-o", file.to_str().unwrap(), "--kubeconfig", config]);
    assert!(bundle.status == 0 && bundle.stdout.contains("2 of 2 nodes"), "{bundle:?}");
    let gaps = run("tar", &["-xzOf", file.to_str().unwrap(), "--wildcards", "*/errors.txt"]);
    assert!(!gaps.contains("forbidden"), "{gaps}");

    apply(&roles_for_tests(&scene.name));
    let tested = ask(&["test", "--engine=OVS", "--node", NODE]);
    assert_eq!((tested.status, &tested.report()["failed"]), (0, &json!(0)), "{tested:?}");
}
