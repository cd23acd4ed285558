//! The objects that a test creates. Pure.

use serde_json::{Map, Value, json};

/// The label of all objects of a test; its value is the id of the test.
pub(crate) const LABEL: &str = "usnet.dev/test";
/// The deadline of pods, in case they are not deleted.
const POD_SECONDS: u32 = 900;

/// The names of a test's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// The value of [`LABEL`].
    pub(crate) id: String,
}

impl Names {
    /// Returns the namespace of the pods.
    pub(crate) fn namespace(&self) -> String {
        format!("usnet-test-{}", self.id)
    }

    /// Returns the namespace that no network of the test selects.
    pub(crate) fn other_namespace(&self) -> String {
        format!("usnet-test-{}-other", self.id)
    }

    pub(crate) fn network(&self, engine: &str) -> String {
        format!("usnet-test-{}-{}", self.id, engine.to_ascii_lowercase())
    }

    pub(crate) fn namespace_object(&self, name: &str, labels: &Map<String, Value>) -> Value {
        let mut labels = labels.clone();
        labels.insert(LABEL.to_owned(), self.id.clone().into());
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    }

    /// Returns the labels by which the networks of the test select namespaces.
    pub(crate) fn selector(&self) -> Map<String, Value> {
        Map::from_iter([("usnet.dev/test-pods".to_owned(), Value::from(self.id.clone()))])
    }

    /// Returns a network with the default port type of its engine and without IP addresses, which
    /// conflicts with no other network.
    pub(crate) fn network_object(&self, engine: &str) -> Value {
        json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork",
            "metadata": {"name": self.network(engine), "labels": {LABEL: self.id}},
            "spec": {"engine": engine, "namespaceSelector": {"matchLabels": self.selector()}},
        })
    }

    /// Returns a pod with the test program on a node, which meets Pod Security "restricted".
    pub(crate) fn pod_object(&self, pod: &TestPod<'_>) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": pod.name, "namespace": pod.namespace, "labels": {LABEL: self.id},
                "annotations": {"k8s.v1.cni.cncf.io/networks": pod.network},
            },
            "spec": {
                "nodeName": pod.node,
                "activeDeadlineSeconds": POD_SECONDS,
                "terminationGracePeriodSeconds": 1,
                "automountServiceAccountToken": false,
                "restartPolicy": "Always",
                "securityContext": {
                    "runAsNonRoot": true, "runAsUser": 65534, "runAsGroup": 65534, "supplementalGroups": [0],
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{
                    "name": "tools", "image": pod.image, "imagePullPolicy": "IfNotPresent",
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "usnet", "mountPath": "/run/usnet"}],
                }],
                "volumes": [{"name": "usnet", "emptyDir": {}}],
            },
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TestPod<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) network: &'a str,
    pub(crate) node: &'a str,
    pub(crate) image: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{Namespace, Pod};
    use usnet_crds::UserspaceNetwork;

    #[test]
    fn manifests_are_objects_and_have_the_label() {
        let names = Names { id: "7f3a".to_owned() };
        let pod = TestPod { name: "a", namespace: "x", network: "n", node: "node-a", image: "i" };
        let pod: Pod = serde_json::from_value(names.pod_object(&pod)).unwrap();
        let namespace = names.namespace_object(&names.namespace(), &names.selector());
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let network: UserspaceNetwork = serde_json::from_value(names.network_object("VPP")).unwrap();
        for labels in [pod.metadata.labels, namespace.metadata.labels.clone(), network.metadata.labels] {
            assert_eq!(labels.unwrap()[LABEL], "7f3a");
        }
        let selected = network.spec.namespace_selector.match_labels.unwrap();
        assert!(
            selected.iter().all(|(key, value)| namespace.metadata.labels.as_ref().unwrap().get(key) == Some(value))
        );
    }
}
