//! What the controller of engines reports.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::types::limits::{MESSAGE_MAX, REASON_MAX};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most nodes with a problem that a status names.
pub const PROBLEMS_MAX: usize = 20;

/// What the controller of engines observed.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceEngineStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready: the engine runs on each selected node, with the current spec. Updated: False while
    /// nodes still have to be restarted.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The selected nodes.
    #[serde(default)]
    pub nodes: EngineNodes,
    /// Nodes on which the engine does not run, by name; at most 20. The list is replaced whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = PROBLEMS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub problems: Vec<EngineNodeProblem>,
}

/// Numbers of nodes.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct EngineNodes {
    /// Nodes that the selector selects.
    #[serde(default)]
    pub selected: u32,
    /// Nodes on which the engine runs.
    #[serde(default)]
    pub running: u32,
    /// Nodes whose engine was started with the current spec.
    #[serde(default)]
    pub updated: u32,
    /// Running of selected nodes, as 2/3.
    #[serde(default)]
    pub summary: String,
}

/// A node on which the engine does not run.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct EngineNodeProblem {
    /// The node.
    #[schemars(length(max = 253))]
    pub node: String,
    /// Why the engine does not run, in one word.
    #[schemars(length(max = REASON_MAX))]
    pub reason: String,
    /// Why the engine does not run, and what to do.
    #[schemars(length(max = MESSAGE_MAX))]
    pub message: String,
}
