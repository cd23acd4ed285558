//! The DaemonSet and the ConfigMap of a UserspaceEngine; [`super::pod`] is the pod in it. Pure.

use super::{ENGINE_LABEL, NAMESPACE, OBJECT_LABEL, POD_ANNOTATION, SETTINGS_ANNOTATION, name_of, pod};
use crate::settings::{FILE, Settings, pod_hash, restart_hash};
use serde_json::{Value, json};
use usnet_crds::userspace_engine::validate::ValidEngine;
use usnet_crds::{EngineKind, UserspaceEngineSpec};

/// The ConfigMap with the settings of the supervisor.
pub(super) fn config_map(object: &str, spec: &UserspaceEngineSpec) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name_of(object), "namespace": NAMESPACE, "labels": labels(object, spec.engine)},
        "data": {FILE: settings(object, spec)},
    })
}

/// What the supervisor is to run.
pub(super) fn settings(object: &str, spec: &UserspaceEngineSpec) -> String {
    let settings = Settings { name: object.to_owned(), spec: spec.clone() };
    serde_json::to_string(&settings).unwrap_or_default()
}

/// The DaemonSet. Its pods are only replaced when they are deleted: [`super::update`] decides that.
pub(super) fn daemon_set(object: &str, spec: &UserspaceEngineSpec, valid: &ValidEngine, usnet_image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name_of(object), "namespace": NAMESPACE, "labels": labels(object, spec.engine)},
        "spec": {
            "selector": {"matchLabels": {OBJECT_LABEL: object}},
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {
                    "labels": labels(object, spec.engine),
                    "annotations": {SETTINGS_ANNOTATION: restart_hash(spec), POD_ANNOTATION: pod_hash(spec)},
                },
                "spec": pod::spec(&name_of(object), &settings(object, spec), spec, valid, usnet_image),
            },
        },
    })
}

fn labels(object: &str, engine: EngineKind) -> Value {
    json!({
        "app.kubernetes.io/name": "usnet",
        "app.kubernetes.io/component": "engine",
        OBJECT_LABEL: object,
        ENGINE_LABEL: engine.traits().api_name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::DaemonSet;
    use usnet_crds::userspace_engine::validate::validate;

    fn spec(changes: &Value) -> UserspaceEngineSpec {
        let mut spec = json!({"engine": "OVS", "image": "registry.example/ovs:1"});
        spec.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    }

    fn made(changes: &Value) -> Value {
        let spec = spec(changes);
        let value = daemon_set("blue", &spec, &validate("blue", &spec).unwrap(), "usnet:1");
        // Nothing in it is unknown to Kubernetes.
        let typed: DaemonSet = serde_json::from_value(value.clone()).unwrap();
        let back = serde_json::to_value(typed).unwrap();
        assert_eq!(back["spec"]["template"]["spec"]["volumes"], value["spec"]["template"]["spec"]["volumes"]);
        value
    }

    fn container(changes: &Value) -> Value {
        made(changes)["spec"]["template"]["spec"]["containers"][0].clone()
    }

    #[test]
    fn an_engine_has_the_privileges_that_its_nics_need_and_no_others() {
        let capabilities = |changes: &Value| container(changes)["securityContext"]["capabilities"]["add"].to_string();
        assert!(!capabilities(&json!({})).contains("SYS_ADMIN"));
        assert!(capabilities(&json!({"engine": "VPP"})).contains("SYS_ADMIN"));
        let memory = |memory: &Value| capabilities(&json!({"memory": memory})).contains("SYS_NICE");
        assert!(memory(&json!({"packets": "512Mi", "hugepages": "2Mi"})) && !memory(&json!({"packets": "512Mi"})));
        assert_eq!(container(&json!({}))["securityContext"]["privileged"], Value::Null);
        assert_eq!(container(&json!({"nics": "PCI"}))["securityContext"]["privileged"], true);
    }

    #[test]
    fn hugepages_and_exclusive_cpus_are_requested_of_kubernetes() {
        let ordinary = container(&json!({}))["resources"].clone();
        assert_eq!(ordinary, json!({"requests": {"cpu": "250m", "memory": "1536Mi"}, "limits": {"memory": "1536Mi"}}));
        let memory = json!({"hugepages": "2Mi", "packets": "512Mi"});
        let own = container(&json!({"memory": memory, "cpus": {"exclusive": 2}}))["resources"].clone();
        assert_eq!(own["requests"], own["limits"], "the class Guaranteed");
        assert_eq!(own["limits"], json!({"cpu": "2", "memory": "512Mi", "hugepages-2Mi": "512Mi"}));
    }

    #[test]
    fn nodes_are_selected_by_labels_and_all_without_a_selector() {
        let affinity = |changes: &Value| made(changes)["spec"]["template"]["spec"]["affinity"].clone();
        assert_eq!(affinity(&json!({})), Value::Null);
        assert_eq!(affinity(&json!({"nodeSelector": {}})), Value::Null);
        let selector = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]});
        let terms = affinity(&json!({"nodeSelector": selector}));
        let terms = &terms["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let expected =
            json!([{"key": "a", "operator": "In", "values": ["b"]}, {"key": "c", "operator": "Exists", "values": []}]);
        assert_eq!(terms, &json!([{"matchExpressions": expected}]));
    }

    #[test]
    fn another_release_of_usnet_restarts_no_engine() {
        let spec = spec(&json!({}));
        let of_release = |image| daemon_set("blue", &spec, &validate("blue", &spec).unwrap(), image);
        let template = |image| of_release(image)["spec"]["template"].clone();
        let settings = |image| template(image)["metadata"]["annotations"][SETTINGS_ANNOTATION].clone();
        assert_ne!(template("usnet:1"), template("usnet:2"), "new pods get the new supervisor");
        assert_eq!(settings("usnet:1"), settings("usnet:2"));
    }

    #[test]
    fn only_what_needs_a_restart_changes_the_hash() {
        let hash = |changes: &Value| restart_hash(&spec(changes));
        let first = hash(&json!({}));
        for same in [
            json!({"update": {"maxUnavailable": 3}}),
            json!({"nodeSelector": {"matchLabels": {"a": "b"}}}),
            json!({"idleSleepMicroseconds": 0}),
        ] {
            assert_eq!(hash(&same), first, "{same}");
        }
        for other in [
            json!({"image": "registry.example/ovs:2"}),
            json!({"memory": {"packets": "2Gi"}}),
            json!({"cpus": {"list": "1"}}),
            json!({"nics": "PCI"}),
        ] {
            assert_ne!(hash(&other), first, "{other}");
        }
        let pod = |changes: &Value| pod_hash(&spec(changes));
        assert_eq!(pod(&json!({"image": "registry.example/ovs:2"})), pod(&json!({})));
        assert_ne!(pod(&json!({"nics": "PCI"})), pod(&json!({})));
        let vpp = |sleep: u32| hash(&json!({"engine": "VPP", "idleSleepMicroseconds": sleep}));
        assert_ne!(vpp(0), vpp(1), "VPP reads it at its start");
    }
}
