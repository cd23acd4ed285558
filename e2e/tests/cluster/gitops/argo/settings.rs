//! The objects that Argo CD reads from its namespace: those of its installation, with usnet's
//! health checks.

use super::NAMESPACE;
use serde_json::{Value, json};

/// The kinds that the tool watches. Their own schemas, which validate the objects of users, are not
/// part of the test.
pub(super) const KINDS: [(&str, &str); 3] =
    [("Application", "applications"), ("ApplicationSet", "applicationsets"), ("AppProject", "appprojects")];
const HEALTH: &str = include_str!("../../../../../config/gitops/argocd-cm.yaml");
const LABEL: &str = "app.kubernetes.io/part-of";

/// All objects except the definitions.
pub(super) fn objects() -> Vec<Value> {
    let health: Value = serde_yaml::from_str(HEALTH).unwrap();
    let maps = [
        "argocd-rbac-cm",
        "argocd-cmd-params-cm",
        "argocd-gpg-keys-cm",
        "argocd-ssh-known-hosts-cm",
        "argocd-tls-certs-cm",
    ];
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        named("v1", "ConfigMap", "argocd-cm", &json!({"data": health["data"]})),
        named(
            "v1",
            "Secret",
            "argocd-secret",
            &json!({"stringData": {"server.secretkey": "test", "admin.password": "test"}}),
        ),
        named(
            "argoproj.io/v1alpha1",
            "AppProject",
            "default",
            &json!({"spec": {
                "sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}],
                "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
            }}),
        ),
    ];
    objects.extend(maps.map(|name| named("v1", "ConfigMap", name, &json!({"data": {}}))));
    objects
}

fn named(version: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object = json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: "argocd"}},
    });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

pub(super) fn definition((kind, plural): (&str, &str)) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.argoproj.io")},
        "spec": {
            "group": "argoproj.io", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            // Unlike other controllers, it writes a status as a part of the object.
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}
