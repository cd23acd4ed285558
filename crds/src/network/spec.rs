//! `UserspaceNetwork`: the object that users write. One network is one layer-2 segment: a bridge on
//! each of its nodes, and the namespaces that may use it.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::attachments::{self, AttachmentSpec};
use super::bridge::spec::{self as bridge, BridgeSpec};
use super::definitions::Definitions;
use super::device_plugin::DevicePluginSpec;
use super::gateway::spec::{self as gateway, GatewaySpec};
use super::ipam::{self, IpamSpec};
use super::node_access::spec::{self as node_access, NodeAccessSpec};
use super::policies::{self, Policies};
use super::port::{self, PortSpec, memif_mode, vlan};
use super::resource_claims::ResourceClaimsSpec;
use super::status::UserspaceNetworkStatus;
use super::topology::spec::{self as topology, TopologySpec};
use super::{name, selectors};
use crate::EngineKind;
use crate::cel::immutable_in_use;
use crate::reservation::allowed::{self, ReservationsSpec};
use crate::types::limits::ATTACHMENTS_MAX;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::Schema;
use serde::{Deserialize, Serialize};

/// A network for DPDK programs: a bridge of a userspace switch on each node, and who may attach to
/// it.
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
    validation = name::is_dns_label(),
    validation = name::fits_engine(),
    validation = name::fits_device_ids(),
    validation = engine_is_immutable_in_use(),
    validation = bridge::name_is_immutable_in_use(),
    validation = bridge::id_is_immutable_in_use(),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary", description = "programmed/selected"),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.attachments", description = "attached interfaces of pods"),
    printcolumn(name = "Connected", type_ = "integer", json_path = ".status.connected", description = "attached interfaces whose program is connected to the engine"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = engine_rules)]
pub struct UserspaceNetworkSpec {
    /// The software switch that carries the network: OVS (Open vSwitch with its userspace datapath)
    /// or VPP (fd.io). It cannot change while pods use the network.
    pub engine: EngineKind,
    /// Namespaces whose pods may attach, and that get a NetworkAttachmentDefinition of the
    /// network's name; {} means all.
    #[schemars(schema_with = "selectors::label_selector")]
    #[x_kube(
        validation = selectors::values_fit_operator(),
        validation = selectors::match_labels_are_labels(),
        validation = selectors::match_expressions_are_labels()
    )]
    pub namespace_selector: LabelSelector,
    /// Where NetworkAttachmentDefinitions are created: PerNamespace, one in each selected namespace
    /// ({} leaves out kube-system, kube-public, kube-node-lease and usnet-system, which can be
    /// selected by name), or Shared, one in usnet-system that pods name as usnet-system/<name>.
    #[serde(default)]
    pub definitions: Definitions,
    /// Nodes that carry the network; default every node that has the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selectors::label_selector")]
    #[x_kube(
        validation = selectors::values_fit_operator(),
        validation = selectors::match_labels_are_labels(),
        validation = selectors::match_expressions_are_labels()
    )]
    pub node_selector: Option<LabelSelector>,
    /// The bridge on each node.
    #[serde(default)]
    pub bridge: BridgeSpec,
    /// How the bridges of different nodes are connected; default not at all.
    #[serde(default)]
    pub topology: TopologySpec,
    /// The defaults of every port.
    #[serde(default)]
    pub port: PortSpec,
    /// A CNI IPAM configuration, passed on as it is; without it ports get no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipam: Option<IpamSpec>,
    /// The network's gateway, with VPP; default none: pods reach others of this network only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewaySpec>,
    /// The node itself in the network; default not at all: kubelet's probes, Services and host
    /// ports do not reach pods by this network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_access: Option<NodeAccessSpec>,
    /// What the names of pods fix: addresses, MAC, VLAN, rate. At most 128.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ATTACHMENTS_MAX))]
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["namespace".into(), "pod".into()]),
        validation = attachments::unique_macs(),
        validation = attachments::unique_ips()
    )]
    pub attachments: Vec<AttachmentSpec>,
    /// What UserspaceReservations of the selected namespaces may fix for their pods; by default
    /// nothing. What `attachments` fixes comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservations: Option<ReservationsSpec>,
    /// Makes the network a resource usnet.dev/<name> of the nodes that carry it, which pods
    /// request; by default it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<DevicePluginSpec>,
    /// Offers ports of the network to resource claims (dynamic resource allocation of Kubernetes),
    /// on the nodes that carry it; by default there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claims: Option<ResourceClaimsSpec>,
    /// Whether MultiNetworkPolicies restrict the connections of pods: Disabled, or Enabled, those
    /// that name a NetworkAttachmentDefinition of the network do. Default Disabled. Enabled with
    /// the antiSpoofing Address, a Managed bridge, and no VLANs of ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Policies")]
    pub policies: Option<Policies>,
}

/// The ports of running pods cannot move from one engine to another.
fn engine_is_immutable_in_use() -> Rule {
    immutable_in_use("engine")
}

/// Rules that depend on other fields, and on the engine: one for each engine of the table that does
/// not support a value.
fn engine_rules(schema: &mut Schema) {
    let rules = bridge::engine_rules()
        .chain([bridge::ownership_is_immutable()])
        .chain(port::engine_rules())
        .chain(vlan::engine_rules());
    for rule in rules
        .chain(topology::rules())
        .chain(gateway::rules())
        .chain(node_access::rules())
        .chain(memif_mode::rules())
        .chain(policies::rules())
        .chain([ipam::static_addresses(), allowed::vlans_of_adopted()])
    {
        // It fails for rules without an expression only, and then tests of the CRD fail.
        let _infallible = kube::core::validate(schema, rule);
    }
}
