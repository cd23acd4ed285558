//! `UserspaceNodeState`: what is specific to one node (spec, written by the controller), and the
//! state of that node (status, written by its agent). What nodes have in common is in
//! [`crate::CompiledNetwork`]. There is one object for each node, so that no agent writes or
//! watches the state of another node, and its size does not grow with the number of networks.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns and categories repeat words, as they must")]

use crate::EngineKind;
use crate::attachment::node::{AttachmentReport, REPORTED_MAX, REQUESTED_MAX, RequestedAttachment};
use crate::names::{NAMESPACE_NAME_MAX, NETWORK_NAME_MAX, POD_NAME_MAX};
use crate::pod_slice::{UID_MAX, addresses};
use crate::types::limits::{NUMBER_MAX, REASON_PATTERN};
use crate::uplink::report::{UPLINK_REPORTS_MAX, UplinkReport};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub use crate::types::limits::{MESSAGE_MAX, REASON_MAX};

/// Most pods that a node names for one network.
pub const PODS_MAX: usize = 10;
/// Most attachments with a problem of their own that a node names for one network.
pub const DEGRADED_MAX: usize = 20;
/// Most attachments with a problem of their own in the whole status.
pub const DEGRADED_OF_NODE_MAX: usize = 100;
/// Most pods that a node names because their engine or their network is leaving them: each is an
/// event on the pod, and a node that is drained may have many.
pub const AFFECTED_PODS_MAX: usize = 100;
/// Longest message of an attachment, in characters.
pub const ATTACHMENT_MESSAGE_MAX: usize = 256;
/// Most pods whose addresses a node reports: kubelets run 110, or some hundreds. The ports of
/// others stay closed if a policy could select them by labels.
pub const POLICY_PODS_MAX: usize = 1024;
/// Most networks that a status lists. An agent with more reports a lower `programmedThrough`, so
/// that the others count as pending.
pub const REPORTS_MAX: usize = 512;
/// Most attachments that a node counts for one network: far more than any kubelet runs.
pub const ATTACHMENTS_COUNT_MAX: i64 = 100_000;
/// Numbers of nodes end here: what is derived from them has to fit into address ranges.
pub const NODE_NUMBER_MAX: u32 = 65_535;
const POD_REFERENCE_MAX: usize = NAMESPACE_NAME_MAX + 1 + POD_NAME_MAX;

/// One node. The object has the name of the Node, which owns it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceNodeState",
    shortname = "usns",
    category = "usnet",
    category = "userspace",
    status = "UserspaceNodeStateStatus",
    derive = "PartialEq",
    doc = "What is true of one node alone (spec, written by the controller), and what the node has (status, written by its agent).",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Engines", type_ = "string", json_path = ".status.summary.engines"),
    printcolumn(
        name = "Networks",
        type_ = "string",
        json_path = ".status.summary.networks",
        description = "programmed/selected"
    ),
    printcolumn(
        name = "Pods",
        type_ = "integer",
        json_path = ".status.summary.attachments",
        description = "attached interfaces of pods"
    ),
    printcolumn(
        name = "Problem",
        type_ = "string",
        json_path = ".status.summary.problem",
        description = "the first one"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNodeStateSpec {
    /// The number of the node, which no other node has and which stays: what each node has a part
    /// of, such as ranges of addresses, follows from it.
    #[serde(default)]
    #[schemars(range(min = 0, max = NODE_NUMBER_MAX))]
    pub number: u32,
    /// All labels of the Node, so that its agent can evaluate node selectors without reading Nodes.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The interfaces that UserspaceAttachments request for pods of the node. The list is replaced
    /// whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = REQUESTED_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub attachments: Vec<RequestedAttachment>,
}

/// What the agent of the node found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNodeStateStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub observed_generation: Option<i64>,
    /// The resourceVersion up to which every CompiledNetwork that selects the node is programmed,
    /// but for those that `networks` lists as Pending, Failed or Draining, and but for all networks
    /// of an engine that is not connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 20), regex(pattern = r"^[0-9]+$"))]
    pub programmed_through: Option<String>,
    /// Ready, NetworksProgrammed, OVSConnected, VPPConnected; MetricsServed and
    /// ConfigurationsAccepted only while they are False.
    #[serde(default)]
    #[schemars(schema_with = "node_conditions")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// Networks that are not programmed, and networks with pods, by name. A network that is
    /// programmed and has no pods is not listed, and neither is one that fails only because its
    /// engine is not connected. The list is replaced whole.
    #[serde(default)]
    #[schemars(length(max = REPORTS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub networks: Vec<NetworkReport>,
    /// The uplinks of the node, by name. The list is replaced whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = UPLINK_REPORTS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub uplinks: Vec<UplinkReport>,
    /// The engines that the agent is connected to.
    #[serde(default)]
    #[schemars(length(max = EngineKind::ALL.len()))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["engine".into()]))]
    pub engines: Vec<EngineReport>,
    /// The last end of each engine that the agent has seen since it was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = EngineKind::ALL.len()))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["engine".into()]))]
    pub engine_ends: Vec<EngineEnd>,
    /// Pods with an interface whose engine is not connected, or whose network is being removed from
    /// the node; at most 100. The controller reports each as an event on the pod. The list is
    /// replaced whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = AFFECTED_PODS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub affected_pods: Vec<AffectedPod>,
    /// The interfaces that UserspaceAttachments request or requested, by uid. The list is replaced
    /// whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = REPORTED_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub attachments: Vec<AttachmentReport>,
    /// The attached pods of networks with policies, with their addresses, by network and uid. The
    /// controller of policies tells all nodes of these networks whose addresses these are, if the
    /// pods are on the node. The list is replaced whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = POLICY_PODS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub policy_pods: Vec<PolicyPod>,
    /// For users: the columns of `kubectl get`.
    #[serde(default)]
    pub summary: NodeSummary,
}

/// A pod that is attached to a network with policies.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyPod {
    /// The name of the network.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    pub network: String,
    /// The uid of the pod.
    #[schemars(length(max = UID_MAX))]
    pub uid: String,
    /// Its addresses on the network.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "addresses")]
    pub addresses: BTreeSet<IpAddr>,
}

/// One network as the node has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct NetworkReport {
    /// The name of the network.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    pub name: String,
    /// The generation of the network that was last tried.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub generation: i64,
    /// How far the network is.
    pub state: NetworkState,
    /// Why the network is not programmed, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Why the network is not programmed, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
    /// Attached interfaces of pods.
    #[serde(default)]
    #[schemars(range(min = 0, max = ATTACHMENTS_COUNT_MAX))]
    pub attachments: i64,
    /// Attached interfaces whose program in the pod is connected to the engine.
    #[serde(default)]
    #[schemars(range(min = 0, max = ATTACHMENTS_COUNT_MAX))]
    pub connected: i64,
    /// The pods of these interfaces, as namespace/name; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = PODS_MAX), inner(length(max = POD_REFERENCE_MAX)))]
    pub pods: Vec<String>,
    /// Attached interfaces with a problem of their own, which is not the network's; at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = DEGRADED_MAX))]
    pub degraded: Vec<DegradedAttachment>,
}

/// An attached interface that no packets reach, while others of its network work.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "camelCase")]
pub struct DegradedAttachment {
    /// The pod, as namespace/name.
    #[schemars(length(max = POD_REFERENCE_MAX))]
    pub pod: String,
    /// The uid of the pod.
    #[schemars(length(max = 64))]
    pub uid: String,
    /// The interface, as the pod's network status has it.
    #[schemars(length(max = 15))]
    pub interface: String,
    /// Why no packets reach the interface, in one word.
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
    /// Why no packets reach the interface, and what to do.
    #[schemars(length(max = ATTACHMENT_MESSAGE_MAX))]
    pub message: String,
}

/// A pod whose interface on a network works less than it did, for a reason that is not the pod's.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "camelCase")]
pub struct AffectedPod {
    /// The pod, as namespace/name.
    #[schemars(length(max = POD_REFERENCE_MAX))]
    pub pod: String,
    /// The uid of the pod.
    #[schemars(length(max = 64))]
    pub uid: String,
    /// The name of the network.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    pub network: String,
    /// The engine that has the interface.
    pub engine: EngineKind,
    /// The reason in one word: EngineUnreachable or NetworkDraining.
    #[schemars(length(min = 1, max = REASON_MAX), regex(pattern = REASON_PATTERN))]
    pub reason: String,
}

/// How far a network is on a node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkState {
    /// The engine was read again after the last change and shows what the spec asks.
    Programmed,
    /// The network is not programmed yet.
    Pending,
    /// The network cannot be programmed, for the reason given; the agent keeps trying.
    Failed,
    /// The network is being deleted, or the node is no longer selected, and pods still use it: new
    /// attachments are refused.
    Draining,
}

/// An engine that the agent is connected to.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct EngineReport {
    /// The engine.
    pub engine: EngineKind,
    /// The version that the engine reports.
    #[schemars(length(max = 64))]
    pub version: String,
    /// How many restarts of the engine the agent has seen.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub epoch: i64,
}

/// The end of the process of an engine.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase")]
pub struct EngineEnd {
    /// The engine.
    pub engine: EngineKind,
    /// How many ends the agent has seen since it was started.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub number: i64,
    /// The pods whose programs had connected last, and what to do.
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
}

/// A node in one line.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSummary {
    /// The connected engines with their versions.
    #[serde(default)]
    #[schemars(length(max = 160))]
    pub engines: String,
    /// Programmed networks of those that select the node, as `2/3`.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub networks: String,
    /// Attached interfaces of pods.
    #[serde(default)]
    #[schemars(range(min = 0, max = ATTACHMENTS_COUNT_MAX))]
    pub attachments: i64,
    /// The first thing that is wrong; empty when nothing is.
    #[serde(default)]
    #[schemars(length(max = 160))]
    pub problem: String,
}

/// The conditions of a node, with the limits that the controller relies on: the token of an agent
/// can be stolen.
fn node_conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 8,
        "items": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "minLength": 1, "maxLength": 64},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$"},
                "message": {"type": "string", "maxLength": 1024},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            },
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        },
    })
}
