//! Snapshots for tests, from objects as the API server has them.

use super::added::Added;
use super::claim::{Claim, ResourceClaim};
use super::engine::Engine;
use super::pod::{Container, Pod};
use super::snapshot::{Objects, Snapshot};
use k8s_openapi::api::core::v1;
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use usnet_controller::cache::parse;
use usnet_crds::{CompiledPolicy, UserspaceAttachment, UserspacePodSlice};

/// A running pod of usnet with one container, of the image `usnet:test`.
pub(crate) fn usnet_pod(component: &str, node: &str) -> Pod {
    let container = Container {
        name: component.to_owned(),
        image: "usnet:test".to_owned(),
        image_id: "sha256:test".to_owned(),
        is_running: true,
        ..Container::default()
    };
    Pod {
        namespace: "usnet-system".to_owned(),
        name: format!("usnet-{component}-{node}"),
        component: Some(component.to_owned()),
        node: Some(node.to_owned()),
        phase: "Running".to_owned(),
        is_ready: true,
        containers: vec![container],
        ..Pod::default()
    }
}

/// The snapshot of a cluster with two nodes, whose agents run and whose engines are connected, and
/// with the namespaces `web` (label `team=a`) and `db`, at 1970-01-01T01:00:00Z.
pub(crate) fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot { now: Timestamp::from_second(3600).unwrap(), ..Snapshot::default() };
    snapshot.leader = Some("usnet-controller-node-a".to_owned());
    for node in ["node-a", "node-b"] {
        add(&mut snapshot, &node_object(node));
        add(&mut snapshot, &state_object(node, &json!([])));
        snapshot.usnet_pods.extend(["controller", "agent"].map(|component| usnet_pod(component, node)));
    }
    add(&mut snapshot, &json!({"kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "a"}}}));
    add(&mut snapshot, &json!({"kind": "Namespace", "metadata": {"name": "db"}}));
    snapshot.unread_objects = [Objects::Events].into();
    snapshot
}

/// A ready Node with the labels `rack=a` and `kubernetes.io/os=linux`.
pub(crate) fn node_object(name: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid of {name}"), "labels": {"rack": "a", "kubernetes.io/os": "linux"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A condition as the API server has it.
pub(crate) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "1970-01-01T00:30:00Z"})
}

/// The state of a node with both engines, with these reports of networks.
pub(crate) fn state_object(name: &str, networks: &Value) -> Value {
    json!({
        "kind": "UserspaceNodeState",
        "metadata": {
            "name": name, "uid": format!("uid of the state of {name}"), "generation": 1,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": format!("uid of {name}")}],
        },
        "spec": {"number": 1, "labels": {"rack": "a", "kubernetes.io/os": "linux"}},
        "status": {
            "observedGeneration": 1,
            "programmedThrough": "100",
            "conditions": [
                condition("Ready", "True", "AgentReady", "the agent works"),
                condition("OVSConnected", "True", "Connected", "connected to Open vSwitch 3.1.0"),
                condition("VPPConnected", "True", "Connected", "connected to VPP 26.06"),
                condition("NetworksProgrammed", "True", "AllProgrammed", "all networks are programmed"),
            ],
            "networks": networks,
            "engines": [
                {"engine": "OVS", "version": "3.1.0", "epoch": 1},
                {"engine": "VPP", "version": "26.06", "epoch": 1},
            ],
            "summary": {"engines": "", "networks": "1/1", "attachments": 0, "problem": ""},
        },
    })
}

/// An agent's report of a network in this state.
pub(crate) fn network_report(name: &str, state: &str, rest: &Value) -> Value {
    let mut report = json!({"name": name, "generation": 1, "state": state, "attachments": 0, "connected": 0});
    merge(&mut report, rest);
    report
}

/// A network for namespaces with the label `team=a`, ready, with these parts of its spec replaced.
pub(crate) fn network_object(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}});
    merge(&mut whole, spec);
    json!({
        "kind": "UserspaceNetwork",
        "metadata": {"name": name, "uid": format!("uid of {name}"), "generation": 1, "finalizers": ["usnet.dev/in-use"]},
        "spec": whole,
        "status": {
            "observedGeneration": 1,
            "conditions": [
                condition("Ready", "True", "AllNodes", "programmed on 2 of 2 nodes"),
                condition("Accepted", "True", "Valid", ""),
                condition("DefinitionsReady", "True", "Synced", ""),
                condition("Programmed", "True", "AllNodes", ""),
            ],
            "nodes": {"selected": 2, "programmed": 2, "failed": 0, "unreachable": 0, "summary": "2/2"},
        },
    })
}

/// The compiled network of a network, for the namespace `web`.
pub(crate) fn compiled_object(network: &Value) -> Value {
    let spec = &network["spec"];
    let is_vpp = spec["engine"] == "VPP";
    let bridge = if is_vpp { "4".to_owned() } else { format!("br-{}", text(&network["metadata"]["name"])) };
    let mut compiled = json!({
        "generation": 1, "phase": "Active", "engine": spec["engine"], "bridge": {"name": bridge, "mtu": 1500},
        "port": {"type": if is_vpp { "Memif" } else { "VhostUser" }, "queues": 1},
        "namespaces": {"names": ["web"], "selector": "team=a"},
    });
    if !spec["nodeSelector"].is_null() {
        compiled["nodeSelector"] = spec["nodeSelector"].clone();
    }
    json!({
        "kind": "CompiledNetwork",
        "metadata": {
            "name": network["metadata"]["name"], "uid": "c", "resourceVersion": "50",
            "ownerReferences": [{
                "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork",
                "name": network["metadata"]["name"], "uid": network["metadata"]["uid"],
            }],
        },
        "spec": compiled,
    })
}

/// A network with its compiled network and its definition in `web`.
pub(crate) fn add_network(snapshot: &mut Snapshot, network: &Value) {
    add(snapshot, network);
    add(snapshot, &compiled_object(network));
    add(snapshot, &definition_object("web", text(&network["metadata"]["name"])));
}

/// The definition that the controller generates.
pub(crate) fn definition_object(namespace: &str, network: &str) -> Value {
    json!({
        "kind": "NetworkAttachmentDefinition",
        "metadata": {
            "namespace": namespace, "name": network, "labels": {"usnet.dev/network": network},
            "ownerReferences": [{"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "name": network, "uid": "u"}],
        },
        "spec": {"config": format!(r#"{{"cniVersion": "1.1.0", "type": "userspace", "network": "{network}"}}"#)},
    })
}

/// A UserspaceEngine that runs Open vSwitch on both nodes, with these parts of its spec replaced.
pub(crate) fn engine_object(name: &str, spec: &Value) -> Value {
    let mut whole =
        json!({"engine": "OVS", "image": "usnet-openvswitch:test", "nodeSelector": {"matchLabels": {"rack": "a"}}});
    merge(&mut whole, spec);
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceEngine",
        "metadata": {"name": name, "generation": 1, "finalizers": ["usnet.dev/engine"]},
        "spec": whole,
        "status": {
            "observedGeneration": 1,
            "conditions": [
                condition("Ready", "True", "EngineRunning", "the engine runs on 2 nodes"),
                condition("Updated", "True", "UpToDate", "no node has to be restarted"),
            ],
            "nodes": {"selected": 2, "running": 2, "updated": 2, "summary": "2/2"},
        },
    })
}

/// A pod on node-a in `web` that selects `blue`, waiting for its containers, with these parts of
/// its spec and status replaced.
pub(crate) fn pod_object(name: &str, rest: &Value) -> Value {
    let mut pod = json!({
        "kind": "Pod",
        "metadata": {
            "namespace": "web", "name": name, "uid": format!("uid of {name}"), "creationTimestamp": "1970-01-01T00:50:00Z",
            "annotations": {"k8s.v1.cni.cncf.io/networks": "blue"},
        },
        "spec": {
            "nodeName": "node-a",
            "volumes": [{"name": "usnet", "emptyDir": {}}],
            "containers": [{"name": "app", "image": "app:1", "volumeMounts": [{"name": "usnet", "mountPath": "/run/usnet"}]}],
        },
        "status": {
            "phase": "Pending",
            "containerStatuses": [{
                "name": "app", "image": "app:1", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": "ContainerCreating"}},
            }],
        },
    });
    merge(&mut pod, rest);
    pod
}

/// The parts of a pod that runs and has `net1`.
pub(crate) fn attached() -> Value {
    json!({
        "metadata": {"annotations": {
            "k8s.v1.cni.cncf.io/network-status":
                r#"[{"name": "cbr0", "interface": "eth0", "ips": ["10.0.0.9"]}, {"name": "web/blue", "interface": "net1", "ips": ["10.56.217.4"], "mac": "02:00:00:00:00:01"}]"#,
        }},
        "status": {"phase": "Running", "containerStatuses": [{
            "name": "app", "image": "app:1", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {}},
        }]},
    })
}

/// Adds or replaces an object.
pub(crate) fn add(snapshot: &mut Snapshot, object: &Value) {
    let cache = &mut snapshot.cache;
    match text(&object["kind"]) {
        "UserspaceNetwork" => cache.networks.extend([parse::network(&read(object))]),
        "CompiledNetwork" => cache.compiled.extend([parse::compiled(&read(object))]),
        "UserspaceUplink" => cache.uplinks.extend([parse::uplink(&read(object))]),
        "UserspaceEngine" => snapshot.engines.extend([Engine::of(read(object))]),
        "Namespace" => cache.namespaces.extend([parse::namespace(&read(object))]),
        "Node" => cache.nodes.extend([parse::node(&read(object))]),
        "UserspaceNodeState" => snapshot.add_state(&read(object)),
        "NetworkAttachmentDefinition" => snapshot.definitions.extend([parse::nad(&read(object))]),
        "ResourceClaim" => snapshot.claims.push(Claim::from(read::<ResourceClaim>(object))),
        "UserspaceAttachment" => snapshot.added.push(Added::from(read::<UserspaceAttachment>(object))),
        "CompiledPolicy" => snapshot.policies.push(read::<CompiledPolicy>(object).spec),
        "UserspacePodSlice" => snapshot.pod_slices.push(read::<UserspacePodSlice>(object).spec),
        "Pod" => snapshot.pods.push(Pod::from(read::<v1::Pod>(object))),
        kind => panic!("{kind}"),
    }
}

fn read<T: DeserializeOwned>(object: &Value) -> T {
    // From text, because parts of the object are kept as raw JSON.
    serde_json::from_str(&object.to_string()).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Applies a JSON merge patch (RFC 7396).
pub(crate) fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (key, value) in change {
                match value {
                    Value::Null => drop(target.remove(key)),
                    value => merge(target.entry(key.clone()).or_insert(Value::Null), value),
                }
            }
        }
        (target, change) => *target = change.clone(),
    }
}
