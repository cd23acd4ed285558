//! `UserspaceNodeState`: what one node should have, written by the controller, and what it has, written by that node's agent.
//! There is one object for each node, so that neither writer nor watcher ever touches the state of another node.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns and categories repeat words, as they must")]

use crate::{Engine, NodeNetwork};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most pods that a node names for one network.
pub const PODS_MAX: usize = 10;

/// The networks of one node. Its name is the node's name.
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
    doc = "The networks that one node should have (spec, written by the controller) and has (status, written by its agent).",
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(
        name = "Networks",
        type_ = "string",
        json_path = ".status.summary",
        description = "programmed/desired"
    ),
    printcolumn(name = "OVS", type_ = "string", json_path = ".status.conditions[?(@.type==\"OVSConnected\")].status"),
    printcolumn(name = "VPP", type_ = "string", json_path = ".status.conditions[?(@.type==\"VPPConnected\")].status"),
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
    /// The networks that the node should have, sorted by name. The list has one writer and is replaced whole, so that what somebody
    /// else puts into it does not stay.
    #[serde(default)]
    pub networks: Vec<NodeNetwork>,
}

/// What the agent of the node found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNodeStateStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, OVSConnected, VPPConnected.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// One entry for each network that the node has or should have. The agent replaces the list whole: for a list by key the API server would keep
    /// track of every field of every entry at every write.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub networks: Vec<NetworkReport>,
    /// The engines that the agent is connected to.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["engine".into()]))]
    pub engines: Vec<EngineReport>,
    /// programmed/desired, for people.
    #[serde(default)]
    pub summary: String,
}

/// One network as the node has it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NetworkReport {
    /// The network's name.
    pub name: String,
    /// The generation of the network that was last tried.
    pub generation: i64,
    /// How far it is.
    pub state: NetworkState,
    /// Why it is not programmed, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it is not programmed, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Attached interfaces of pods.
    #[serde(default)]
    pub attachments: i64,
    /// Those of them whose program in the pod is connected to the engine.
    #[serde(default)]
    pub connected: i64,
    /// Who they are, as namespace/name; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<String>,
}

/// How far a network is on a node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkState {
    /// The engine was read again after the last change and shows what the spec asks.
    Programmed,
    /// Not yet.
    Pending,
    /// It cannot be, for the reason given; the agent keeps trying.
    Failed,
    /// Being deleted: new attachments are refused.
    Draining,
}

/// An engine that the agent is connected to.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct EngineReport {
    /// Which one.
    pub engine: Engine,
    /// Its version, as it says itself.
    pub version: String,
    /// Counts the restarts of the engine that the agent has seen.
    pub epoch: i64,
}

/// Programmed networks of all, as `2/3`.
pub fn summary(networks: &[NetworkReport]) -> String {
    let programmed = networks.iter().filter(|network| network.state == NetworkState::Programmed).count();
    format!("{programmed}/{}", networks.len())
}
