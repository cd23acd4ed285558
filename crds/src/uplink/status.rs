//! The status of an uplink, which the controller writes.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::network::{NodeCounts, NodeFailure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Most networks that the status of an uplink names.
pub const UPLINK_NETWORKS_MAX: usize = 20;

/// What the controller observed.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceUplinkStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Accepted, Programmed; while true also Reconciling, Stalled, Degraded,
    /// DeletionBlocked.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// How many nodes have the uplink.
    #[serde(default)]
    pub nodes: NodeCounts,
    /// How many networks use the uplink.
    #[serde(default)]
    pub network_count: i64,
    /// The names of networks that use it, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub networks: Vec<String>,
    /// Attached interfaces of pods of these networks, on all nodes.
    #[serde(default)]
    pub attachments: i64,
    /// Nodes that failed, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["node".into()]))]
    pub failures: Vec<NodeFailure>,
}
