//! Objects that the attacks write.

use serde_json::{Value, json};

pub(crate) fn node_state(node: &str, part: &str, content: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": node}, part: content,
    })
}

/// A compiled network; the one called `guards` is there, with another MTU.
pub(crate) fn compiled(name: &str) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledNetwork", "metadata": {"name": name},
        "spec": {
            "generation": 1, "engine": "OVS", "bridge": {"name": format!("br-{name}"), "mtu": 1300},
            "port": {"type": "VhostUser", "queues": 1},
        },
    })
}

/// A policy of the namespace `guards` for its network.
pub(crate) fn policy() -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {
            "name": "guards", "namespace": "guards", "annotations": {"k8s.v1.cni.cncf.io/policy-for": "guards"},
        },
        "spec": {"podSelector": {}},
    })
}

/// A compiled policy that closes nothing; `guards.guards` is there, and does.
pub(crate) fn compiled_policy(name: &str) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledPolicy", "metadata": {"name": name},
        "spec": {"networks": ["guards"], "namespace": "guards", "name": "guards", "generation": 1},
    })
}

/// A slice with a pod that all selectors select; there is none of that name.
pub(crate) fn pod_slice() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspacePodSlice",
        "metadata": {"name": "made", "labels": {"usnet.dev/network": "guards"}},
        "spec": {
            "network": "guards", "selectors": ["0".repeat(32)],
            "classes": [{"namespace": "guards", "selectedBy": [0], "pods": {"0": ["10.9.0.1"]}}],
        },
    })
}

/// An attachment of the pod `own`; there is none of that name.
pub(crate) fn attachment() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": "made", "namespace": "guards"},
        "spec": {"pod": "own", "network": "guards", "interface": "net7"},
    })
}

/// A request for a node of an interface that no attachment names.
pub(crate) fn requested_interface() -> Value {
    json!({"attachments": [{
        "uid": "0", "namespace": "guards", "name": "made", "pod": "others", "podUID": "0", "network": "guards",
        "interface": "net7",
    }]})
}

/// A slice of nodes; there is none of that name.
pub(crate) fn node_slice() -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeSlice", "metadata": {"name": "nodes-9"},
        "spec": {"nodes": [{"name": "node-a", "number": 900, "addresses": ["192.0.2.1"]}]},
    })
}

pub(crate) fn definition(namespace: &str, name: &str, kind: &str) -> Value {
    let config = json!({"cniVersion": "1.0.0", "type": kind}).to_string();
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace, "labels": {"usnet.dev/network": name}},
        "spec": {"config": config},
    })
}

/// Returns the NAD that the controller would create for the network `guards`, except for the
/// resource.
pub(crate) fn with_resource_of_others() -> Value {
    let mut made = definition("guards", "guards", "userspace");
    made["metadata"]["annotations"] = json!({"k8s.v1.cni.cncf.io/resourceName": "vendor.example/nic"});
    made["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": "guards", "uid": "0",
    }]);
    made["spec"]["config"] = json!(usnet_crds::nad::config(&"guards".parse().unwrap()));
    made
}

/// A network for all namespaces.
pub(crate) fn network(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name, "labels": labels},
        "spec": {"engine": "OVS", "namespaceSelector": {}},
    })
}
