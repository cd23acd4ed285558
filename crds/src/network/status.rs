//! The status of a network, which the controller writes.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::Vni;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most failed nodes in the status of a network. A list of all nodes of a large cluster would not
/// fit into one object.
pub const FAILURES_MAX: usize = 10;

/// Most pods in the status of a network: enough to find out whose they are.
pub const STATUS_PODS_MAX: usize = 5;

/// What the controller observed.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNetworkStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Accepted, DefinitionsReady, Programmed; while true also Reconciling, Stalled,
    /// DeletionBlocked.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// How many nodes carry the network.
    #[serde(default)]
    pub nodes: NodeCounts,
    /// Attached interfaces of pods, on all nodes.
    #[serde(default)]
    pub attachments: i64,
    /// Attached interfaces whose program in the pod is connected to the engine.
    #[serde(default)]
    pub connected: i64,
    /// Some of these pods, as namespace/name; at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
    /// The overlay of the network, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<OverlayStatus>,
    /// Nodes that failed, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["node".into()]))]
    pub failures: Vec<NodeFailure>,
}

/// The overlay of a network.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlayStatus {
    /// The id of the VXLAN network, as `topology.overlay.vni` sets it or as it was chosen.
    pub vni: Vni,
}

/// How many nodes have a network or an uplink.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Nodes that should have it.
    pub selected: i64,
    /// Nodes that have it, at the observed generation.
    pub programmed: i64,
    /// Nodes that cannot have it.
    pub failed: i64,
    /// Nodes that Kubernetes calls NotReady; they do not hold Ready back.
    pub unreachable: i64,
    /// programmed/selected, for users.
    pub summary: String,
}

/// Why a node does not have a network or an uplink.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeFailure {
    /// The name of the node.
    pub node: String,
    /// The reason, in one word.
    pub reason: String,
    /// What failed and what to do.
    pub message: String,
}
