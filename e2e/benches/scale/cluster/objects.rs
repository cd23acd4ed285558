//! The objects that users and Kubernetes write: nodes, namespaces, networks.

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use usnet_crds::{EngineKind, UserspaceNetwork};

/// Requests of one client that are under way at once.
pub(crate) const AT_ONCE: usize = 32;
const MTUS: [i64; 2] = [1500, 9000];

/// What networks of a cluster have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    pub(crate) engine: EngineKind,
    /// One definition for each network, or one in each namespace.
    pub(crate) shares_definitions: bool,
}

impl Template {
    pub(crate) fn network(self, name: &str) -> UserspaceNetwork {
        let definitions = if self.shares_definitions { "Shared" } else { "PerNamespace" };
        let object = json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name},
            "spec": {"engine": self.engine, "bridge": {"mtu": MTUS[0]}, "definitions": definitions,
                "namespaceSelector": {"matchLabels": {"team": "a"}}},
        });
        serde_json::from_value(object).expect("a network")
    }
}

pub(crate) fn network_name(index: usize) -> String {
    format!("network-{index:04}")
}

pub(crate) fn node_name(index: usize) -> String {
    format!("node-{index:04}")
}

pub(crate) fn namespace_name(index: usize) -> String {
    format!("team-{index:04}")
}

/// Ready nodes with the labels of a node in a cloud.
pub(crate) async fn make_nodes(client: &Client, count: usize) {
    let api: Api<Node> = Api::all(client.clone());
    let make = |index: usize| {
        let api = api.clone();
        async move {
            let name = node_name(index);
            let labels = json!({
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "metal-64", "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": format!("zone-{}", index % 3), "example.com/rack": format!("rack-{}", index / 40),
                "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
            });
            let node = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).expect("a node");
            api.create(&PostParams::default(), &node).await.expect("a node is made");
            set_ready(&api, &name, true).await;
        }
    };
    stream::iter((0..count).map(make)).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// Says whether a node is ready, as Kubernetes' node lifecycle controller does.
pub(crate) async fn set_ready(nodes: &Api<Node>, name: &str, is_ready: bool) {
    let (status, reason) = if is_ready { ("True", "KubeletReady") } else { ("Unknown", "NodeStatusUnknown") };
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}});
    nodes
        .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
        .await
        .expect("a node's status is written");
}

pub(crate) async fn make_namespaces(client: &Client, count: usize) {
    let api: Api<Namespace> = Api::all(client.clone());
    let make = |index: usize| {
        let api = api.clone();
        let object = json!({"metadata": {"name": namespace_name(index), "labels": {"team": "a"}}});
        async move {
            let namespace = serde_json::from_value(object).expect("a namespace");
            api.create(&PostParams::default(), &namespace).await.expect("a namespace is made");
        }
    };
    stream::iter((0..count).map(make)).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

pub(crate) async fn make_networks(client: &Client, networks: impl IntoIterator<Item = UserspaceNetwork>) {
    let api: Api<UserspaceNetwork> = Api::all(client.clone());
    let make = |network: UserspaceNetwork| {
        let api = api.clone();
        async move { api.create(&PostParams::default(), &network).await.expect("a network is made") }
    };
    stream::iter(networks).map(make).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
}

/// A network that was changed.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) mtu: i64,
}

/// Gives each network the other MTU, all as fast as one client can.
pub(crate) async fn change(client: &Client, names: &[String]) -> Vec<Changed> {
    let api: Api<UserspaceNetwork> = Api::all(client.clone());
    let current = api.get(names.first().expect("a network")).await.expect("a network");
    let mtu = if current.spec.bridge.mtu.unwrap_or(1500) == MTUS[0] { MTUS[1] } else { MTUS[0] };
    let change = |name: String| {
        let api = api.clone();
        async move {
            let patch: Value = json!({"spec": {"bridge": {"mtu": mtu}}});
            let network = api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.expect("a network");
            Changed { generation: network.metadata.generation.unwrap_or_default(), name: network.name_any(), mtu }
        }
    };
    stream::iter(names.to_vec()).map(change).buffer_unordered(names.len()).collect().await
}
