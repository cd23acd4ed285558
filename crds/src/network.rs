//! `UserspaceNetwork`: the object that users write. One network is one layer-2 segment: a bridge on
//! each of its nodes, and the namespaces that may use it.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

mod attachment;
mod bridge;
mod definitions;
mod device_plugin;
mod port;
mod vlan;

pub use attachment::{ATTACHMENTS_MAX, AttachmentSpec, IPS_MAX};
pub use bridge::BridgeSpec;
pub use definitions::{Definitions, SHARED_NAMESPACE, SYSTEM_NAMESPACES};
pub use device_plugin::DevicePluginSpec;
pub use port::{PortSpec, RateLimitSpec};
pub use vlan::{VlanMode, VlanSpec};

use crate::ipam::IpamSpec;
use crate::{Engine, rules, schema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keeps a deleted network until no pod uses it and no node carries it any more.
pub const FINALIZER: &str = "usnet.dev/in-use";
/// With the name of the network as its value: the network is deleted although pods still use it.
/// Their ports stay until the pods end.
pub const FORCE_DELETE: &str = "usnet.dev/force-delete";
/// Most values of one requirement of a label selector, such as names of namespaces: CEL rejects
/// rules over unbounded lists.
pub const SELECTOR_VALUES_MAX: usize = 256;
/// Most failed nodes in the status of a network. A list of all nodes of a large cluster would not
/// fit into one object.
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
    validation = rules::engines::vpp_network_name(),
    validation = rules::device_network_name(),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary", description = "programmed/selected"),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.attachments", description = "attached interfaces of pods"),
    printcolumn(name = "Connected", type_ = "integer", json_path = ".status.connected", description = "attached interfaces whose program is connected to the engine", priority = 1),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = rules::engines::bridge_name_with_vpp(),
    validation = rules::engines::bridge_id_with_ovs(),
    validation = rules::engines::adopted_without_name(),
    validation = rules::engines::adopted_without_id(),
    validation = rules::engines::mac_age_with_ovs(),
    validation = rules::engines::mac_age_with_vpp(),
    validation = rules::engines::memif_with_ovs(),
    validation = rules::engines::memif_with_its_type(),
    validation = rules::engines::vhost_user_with_its_type(),
    validation = rules::engines::engine_role_with_ovs(),
    validation = rules::engines::egress_of_veth_with_ovs(),
    validation = rules::engines::fixed_egress_of_veth_with_ovs(),
    validation = rules::engines::trunk_with_vpp(),
    validation = rules::engines::fixed_trunk_with_vpp()
)]
pub struct UserspaceNetworkSpec {
    /// The software switch that carries the network: OVS (Open vSwitch with its userspace datapath) or VPP (fd.io). It cannot change.
    #[x_kube(validation = rules::engine_immutable())]
    pub engine: Engine,
    /// Namespaces whose pods may attach, and that get a NetworkAttachmentDefinition of the network's name; {} means all.
    #[schemars(schema_with = "schema::label_selector")]
    #[x_kube(validation = rules::selector())]
    pub namespace_selector: LabelSelector,
    /// Where NetworkAttachmentDefinitions are made: PerNamespace, one in each selected namespace ({} leaves out kube-system, kube-public, kube-node-lease and
    /// usnet-system, which can be selected by name), or Shared, one in usnet-system that pods name as usnet-system/<name>.
    #[serde(default)]
    pub definitions: Definitions,
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
    /// What the names of pods fix: addresses, MAC, VLAN, rate. At most 128.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ATTACHMENTS_MAX))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["namespace".into(), "pod".into()]),
        validation = rules::attachments::unique_macs(),
        validation = rules::attachments::unique_ips()
    )]
    pub attachments: Vec<AttachmentSpec>,
    /// Makes the network a resource usnet.dev/<name> of the nodes that carry it, which pods ask for; default it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<DevicePluginSpec>,
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
    /// Those of them whose program in the pod is connected to the engine.
    #[serde(default)]
    pub connected: i64,
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
