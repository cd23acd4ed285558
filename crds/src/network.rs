//! `UserspaceNetwork`: the object that people write. One network is one layer-2 segment: a bridge on each of its nodes, and who may use it.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::ipam::IpamSpec;
use crate::{Engine, Mtu, PortType, Queues, rules, schema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keeps a network until no pod uses it any more and no node carries it.
pub const FINALIZER: &str = "usnet.dev/in-use";
/// Most nodes that a network's status names as failed. Lists of all nodes would not fit into one object of a large cluster.
pub const FAILURES_MAX: usize = 10;

/// A network for DPDK programs: a bridge of a userspace switch on each node, and who may attach to it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceNetwork",
    shortname = "usn",
    category = "usnet",
    category = "userspace",
    status = "UserspaceNetworkStatus",
    derive = "PartialEq",
    doc = "A network for DPDK programs: a bridge of a userspace switch on each node, and who may attach to it.",
    validation = rules::network_name(),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary", description = "programmed/selected"),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.attachments", description = "attached interfaces of pods"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNetworkSpec {
    /// The software switch that carries the network. It cannot change.
    #[x_kube(validation = rules::engine_immutable())]
    pub engine: Engine,
    /// Namespaces whose pods may attach, and that get a NetworkAttachmentDefinition of the network's name; {} means all.
    #[schemars(schema_with = "schema::label_selector")]
    #[x_kube(validation = rules::selector())]
    pub namespace_selector: LabelSelector,
    /// Nodes that carry the network; default every node that has the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    #[x_kube(validation = rules::selector())]
    pub node_selector: Option<LabelSelector>,
    /// The bridge on each node.
    #[serde(default)]
    pub bridge: BridgeSpec,
    /// What every port starts from.
    #[serde(default)]
    pub port: PortSpec,
    /// A CNI IPAM configuration, passed on as it is; without it ports get no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipam: Option<IpamSpec>,
}

/// The bridge of a network on each node.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = rules::bridge_name_immutable())]
pub struct BridgeSpec {
    /// Its name in the engine; default br- and the network's name. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::bridge_name(), validation = rules::bridge_name_not_reserved())]
    pub name: Option<String>,
    /// Its MTU in bytes, and that of every port on it.
    #[serde(default = "default_mtu")]
    #[x_kube(validation = rules::mtu())]
    pub mtu: i64,
}

/// What every port of a network starts from.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PortSpec {
    /// How a pod's interface meets the engine.
    #[serde(rename = "type", default)]
    pub port_type: PortType,
    /// Queue pairs, told to the pod's program.
    #[serde(default = "default_queues")]
    #[x_kube(validation = rules::queues())]
    pub queues: i64,
    /// The VLAN of the ports; default untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanSpec>,
}

/// The VLAN of a port.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VlanSpec {
    /// How frames are tagged. Access: untagged at the pod, in one VLAN on the bridge.
    pub mode: VlanMode,
    /// The VLAN.
    #[x_kube(validation = rules::vlan_tag())]
    pub tag: i64,
}

/// How the frames of a port are tagged.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanMode {
    /// Untagged at the pod, in one VLAN on the bridge.
    Access,
}

fn default_mtu() -> i64 {
    Mtu::default().into()
}

fn default_queues() -> i64 {
    Queues::default().into()
}

impl Default for BridgeSpec {
    fn default() -> Self {
        Self { name: None, mtu: default_mtu() }
    }
}

impl Default for PortSpec {
    fn default() -> Self {
        Self { port_type: PortType::default(), queues: default_queues(), vlan: None }
    }
}

/// What the controller found.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceNetworkStatus {
    /// The generation that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Accepted, DefinitionsReady, Programmed; while true also Reconciling, Stalled, DeletionBlocked.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// How many nodes carry the network.
    #[serde(default)]
    pub nodes: NodeCounts,
    /// Attached interfaces of pods, on all nodes.
    #[serde(default)]
    pub attachments: i64,
    /// Nodes that failed, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["node".into()]))]
    pub failures: Vec<NodeFailure>,
}

/// How many nodes carry a network.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Nodes that should carry it.
    pub selected: i64,
    /// Those that do, at the observed generation.
    pub programmed: i64,
    /// Those that cannot.
    pub failed: i64,
    /// Those that Kubernetes calls NotReady; they do not hold Ready back.
    pub unreachable: i64,
    /// programmed/selected, for people.
    pub summary: String,
}

/// Why a node does not carry a network.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeFailure {
    /// The node.
    pub node: String,
    /// The reason, in one word.
    pub reason: String,
    /// What failed and what to do.
    pub message: String,
}
