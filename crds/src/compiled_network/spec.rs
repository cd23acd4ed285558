//! `CompiledNetwork`: one network, compiled for all nodes. The controller writes it once for each
//! change, and every agent watches it. It contains nothing of any node, so that its size and the
//! number of writes do not grow with the number of nodes.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::node_network::{Namespaces, NodeNetwork, Phase};
use crate::network::ipam::node_prefix::NodePrefix;
use crate::network::selectors;
use crate::network::settings::{network_struct, with_settings_of};
use crate::network::validate::ValidNetwork;
use crate::types::limits::{ATTACHMENTS_MAX, IP_MAX, RESERVATIONS_MAX};
use crate::{Encapsulation, FixedAttachment, IpFamily, NetworkName, NetworkUplink, UdpPort, UplinkName, Vni};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;

network_struct! {
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
    #[schemars(transform = settings_schema)]
    pub struct CompiledNetworkSpec {
        /// The `metadata.generation` of the UserspaceNetwork that this was compiled from.
        pub generation: i64,
        /// The `metadata.creationTimestamp` of the UserspaceNetwork: of two networks that want one
        /// bridge on a node, the older has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub created: Option<Time>,
        /// Active, or Draining while the network is being deleted: running pods keep it, new ones
        /// are rejected, and a node without pods removes it.
        #[serde(default)]
        pub phase: Phase,
        /// The nodes that carry the network, as in the UserspaceNetwork; default every node that
        /// has the engine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "selectors::label_selector")]
        pub node_selector: Option<LabelSelector>,
        /// The VXLAN between the nodes; none means that the bridges of different nodes are not
        /// connected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub overlay: Option<CompiledOverlay>,
        /// The uplink, and the VLAN on it; none means that no NIC of the nodes is connected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub uplink: Option<NetworkUplink>,
        /// The namespaces whose pods may attach.
        #[serde(default)]
        pub namespaces: Namespaces,
        /// How the ranges of `ipam` are divided among the nodes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub node_prefix: Option<NodePrefix>,
    }
}

/// The VXLAN between the nodes of a network.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "camelCase")]
pub struct CompiledOverlay {
    /// The id of the VXLAN network.
    pub vni: Vni,
    /// The destination port of the encapsulated packets.
    pub port: UdpPort,
    /// The family of the addresses between which encapsulated packets are sent.
    #[serde(default)]
    pub ip_family: IpFamily,
    /// Who encapsulates: Kernel or Engine.
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
    /// The uplink that the network needs on each node.
    pub fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || self.overlay.as_ref()?.underlay.as_ref();
        self.uplink.as_ref().map(|uplink| &uplink.name).or_else(underlay)
    }

    /// The network as all nodes have it: without peers, and with the ranges of all nodes.
    pub fn on_node(&self, name: NetworkName) -> NodeNetwork {
        with_settings_of! {
            self => NodeNetwork {
                name,
                generation: self.generation,
                phase: self.phase,
                namespaces: self.namespaces.clone(),
                overlay: None,
                uplink: self.uplink.clone(),
            }
        }
    }
}

/// What a compiled network has that does not follow from the spec of its UserspaceNetwork.
#[derive(Debug)]
pub struct CompiledState {
    pub generation: i64,
    pub created: Option<Time>,
    pub phase: Phase,
    /// The overlay, with the VNI that was chosen for it.
    pub overlay: Option<CompiledOverlay>,
    /// The namespaces that the selector of the network selects now.
    pub namespaces: Namespaces,
    /// What reservations fix.
    pub reserved: Vec<FixedAttachment>,
}

impl ValidNetwork {
    /// The network as it is written for all nodes.
    pub fn compiled(&self, state: CompiledState) -> CompiledNetworkSpec {
        let CompiledState { generation, created, phase, overlay, namespaces, reserved } = state;
        let mut compiled = with_settings_of! {
            self => CompiledNetworkSpec {
                generation,
                created,
                phase,
                node_selector: self.node_selector.clone(),
                overlay,
                uplink: self.topology.uplink().cloned(),
                namespaces,
                node_prefix: self.node_prefix,
            }
        };
        compiled.attachments.extend(reserved);
        compiled.attachments.sort_by(|one, other| (&one.namespace, &one.pod).cmp(&(&other.namespace, &other.pod)));
        compiled
    }
}

fn address(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "Where broadcasts are sent; none means to each other node.",
        "type": "string",
        "maxLength": IP_MAX,
    })
}

/// Adds what the schema needs of settings that are declared for all forms of a network: `ipam` is
/// any object, and the list of attachments has one writer.
fn settings_schema(schema: &mut Schema) {
    let mut set = |field: &str, keyword: &str, value: Value| {
        let field = schema.get_mut("properties").and_then(|fields| fields.get_mut(field));
        field.and_then(Value::as_object_mut).map(|field| field.insert(keyword.to_owned(), value));
    };
    set("ipam", "type", "object".into());
    set("ipam", "x-kubernetes-preserve-unknown-fields", true.into());
    set("attachments", "maxItems", (ATTACHMENTS_MAX + RESERVATIONS_MAX).into());
    set("attachments", "x-kubernetes-list-type", "atomic".into());
}
