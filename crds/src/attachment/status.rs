//! What the controller reports, most of it from the agent of the pod's node.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What the controller observed.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceAttachmentStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The condition Ready.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The node of the pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// The uid of the pod.
    #[serde(default, rename = "podUID", skip_serializing_if = "String::is_empty")]
    pub pod_uid: String,
    /// The MAC address of the interface.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// The addresses of the interface with prefix lengths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ips: Vec<String>,
    /// The name of the socket in the pod's volume, or the abstract socket; empty for Veth.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub socket: String,
    /// The largest payload of the interface, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u16>,
}
