//! `CompiledNetwork`: one network, compiled for all nodes. The controller writes it once for each
//! change, and every agent watches it. It contains nothing of any node, so that its size and the
//! number of writes do not grow with the number of nodes.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns repeat words, as they must")]

use super::node_network::{Namespaces, NodeNetwork, Phase};
use crate::network::ipam::node_prefix::NodePrefix;
use crate::network::selectors;
use crate::types::limits::{ATTACHMENTS_MAX, IP_MAX};
use crate::{
    Bridge, DevicePlugin, Encapsulation, EngineKind, FixedAttachment, Gateway, IpFamily, NetworkName, NetworkUplink,
    Port, ResourceClaims, UdpPort, UplinkName, Vni,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One network for all nodes. It has the name of its `UserspaceNetwork`, which owns it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "CompiledNetwork",
    shortname = "ucn",
    category = "usnet",
    derive = "PartialEq",
    doc = "What all nodes need to know of one UserspaceNetwork. Only the controller writes it; agents watch it and select.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Bridge", type_ = "string", json_path = ".spec.bridge.name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".spec.phase"),
    printcolumn(
        name = "Generation",
        type_ = "integer",
        json_path = ".spec.generation",
        description = "of the UserspaceNetwork"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct CompiledNetworkSpec {
    /// The `metadata.generation` of the UserspaceNetwork that this was compiled from.
    pub generation: i64,
    /// The `metadata.creationTimestamp` of the UserspaceNetwork: of two networks that want one
    /// bridge on a node, the older has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// Active, or Draining while the network is being deleted: running pods keep it, new ones are
    /// rejected, and a node without pods removes it.
    #[serde(default)]
    pub phase: Phase,
    /// The software switch that carries the network.
    pub engine: EngineKind,
    /// The nodes that carry it, as in the UserspaceNetwork; default every node that has the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "selectors::label_selector")]
    pub node_selector: Option<LabelSelector>,
    /// The bridge on each node, with its resolved name or id.
    pub bridge: Bridge,
    /// The VXLAN between the nodes; none means that the bridges of different nodes are not
    /// connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<CompiledOverlay>,
    /// The uplink, and the VLAN on it; none means that no NIC of the nodes is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<NetworkUplink>,
    /// The defaults of every port.
    pub port: Port,
    /// The namespaces whose pods may attach.
    #[serde(default)]
    pub namespaces: Namespaces,
    /// A CNI IPAM configuration, passed on as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub ipam: Option<serde_json::Value>,
    /// How the ranges of `ipam` are divided among the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_prefix: Option<NodePrefix>,
    /// The gateway; none means that pods reach others of this network only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
    /// What the names of pods fix, sorted by namespace and pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ATTACHMENTS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub attachments: Vec<FixedAttachment>,
    /// How kubelet counts its attachments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<DevicePlugin>,
    /// How many ports of a node resource claims get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_claims: Option<ResourceClaims>,
}

/// The VXLAN between the nodes of a network.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct CompiledOverlay {
    /// The id of the VXLAN network.
    pub vni: Vni,
    /// The destination port of the encapsulated packets.
    pub port: UdpPort,
    /// The family of the addresses between which they are sent.
    #[serde(default)]
    pub ip_family: IpFamily,
    /// Who encapsulates.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// The uplink whose underlay has the addresses; none means that they are those of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underlay: Option<UplinkName>,
    /// Where broadcasts are sent; none means to each other node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "address")]
    pub multicast_group: Option<IpAddr>,
}

impl CompiledNetworkSpec {
    /// The uplink that it needs on each node.
    pub fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || self.overlay.as_ref()?.underlay.as_ref();
        self.uplink.as_ref().map(|uplink| &uplink.name).or_else(underlay)
    }

    /// The network as all nodes have it: without peers, and with the ranges of all nodes.
    pub fn on_node(&self, name: NetworkName) -> NodeNetwork {
        NodeNetwork {
            name,
            generation: self.generation,
            phase: self.phase,
            engine: self.engine,
            bridge: self.bridge.clone(),
            port: self.port.clone(),
            namespaces: self.namespaces.clone(),
            ipam: self.ipam.clone(),
            gateway: self.gateway.clone(),
            attachments: self.attachments.clone(),
            device_plugin: self.device_plugin,
            resource_claims: self.resource_claims,
            overlay: None,
            uplink: self.uplink.clone(),
        }
    }
}

fn address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Where broadcasts are sent; none means to each other node.",
        "type": "string",
        "maxLength": IP_MAX,
    })
}

/// Any JSON object, unchanged.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
