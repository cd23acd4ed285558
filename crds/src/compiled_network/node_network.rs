//! One network for one node: the agent selects, programs and publishes it, and the plugin attaches
//! pods to it.

use super::node_overlay::NodeOverlay;
use crate::network::attachments::FixedAttachment;
use crate::network::settings::network_struct;
use crate::{MemifSecretKind, MemifSocketKind, NetworkName, NetworkUplink, PortType, UplinkName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The namespaces whose pods may attach to a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Namespaces {
    /// Every namespace, also one that is created later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// These namespaces, sorted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "api", schemars(schema_with = "namespace_names"))]
    pub names: BTreeSet<String>,
    /// The selector that chose the names, shortened, for messages.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "api", schemars(length(max = 256)))]
    pub selector: String,
}

/// Names of namespaces. The list has a single writer, so the API server need not track the
/// ownership of each item.
#[cfg(feature = "api")]
fn namespace_names(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "These namespaces, sorted.",
        "type": "array",
        "items": {"type": "string", "maxLength": crate::names::NAMESPACE_NAME_MAX},
        "x-kubernetes-list-type": "atomic",
    })
}

impl Namespaces {
    pub const fn all() -> Self {
        Self { all: true, names: BTreeSet::new(), selector: String::new() }
    }

    /// Whether pods of this namespace may attach.
    pub fn allow(&self, namespace: &str) -> bool {
        self.all || self.names.contains(namespace)
    }
}

impl<S: Into<String>> FromIterator<S> for Namespaces {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self { all: false, names: names.into_iter().map(Into::into).collect(), selector: String::new() }
    }
}

/// Whether pods may still join a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Pods may attach.
    #[default]
    Active,
    /// The network is being deleted, or the node is no longer selected: running pods keep it, new
    /// ones are rejected.
    Draining,
}

network_struct! {
    /// One network as one node should have it.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct NodeNetwork {
        pub name: NetworkName,
        /// The `metadata.generation` of the UserspaceNetwork that this was compiled from.
        pub generation: i64,
        #[serde(default)]
        pub phase: Phase,
    }
    between {
        /// The namespaces whose pods may attach.
        #[serde(default)]
        pub namespaces: Namespaces,
    }
    after {
        /// How the bridge is connected to those of other nodes; none means that it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub overlay: Option<NodeOverlay>,
        /// The uplink that connects the bridge to the network outside of the node; none means that
        /// no NIC does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub uplink: Option<NetworkUplink>,
    }
}

impl NodeNetwork {
    /// The settings that are fixed for a pod.
    pub fn fixed(&self, namespace: &str, pod: &str) -> Option<FixedAttachment> {
        self.attachments.iter().find_map(|fixed| fixed.of_pod(namespace, pod))
    }

    /// Whether a pod and the engine share a folder. A device of the pod's kernel and a socket
    /// without a file need none.
    pub fn needs_folder(&self) -> bool {
        let memif = self.port.memif;
        match self.port.port_type {
            PortType::VhostUser => true,
            PortType::Memif => memif.socket == MemifSocketKind::Volume || memif.secret == MemifSecretKind::Generated,
            PortType::Veth | PortType::Tap => false,
        }
    }

    /// The network as its network file has it, which the plugin reads at each ADD: without what
    /// only the agent uses.
    pub fn for_plugin(&self) -> Self {
        Self { overlay: None, uplink: None, ..self.clone() }
    }

    /// The uplink that the network needs on each node: the one that it is connected to, or that its
    /// engine sends encapsulated packets over.
    pub fn uplink_name(&self) -> Option<&UplinkName> {
        let underlay = || Some(&self.overlay.as_ref()?.underlay.as_ref()?.uplink);
        self.uplink.as_ref().map(|uplink| &uplink.name).or_else(underlay)
    }

    pub fn allows(&self, namespace: &str) -> bool {
        self.namespaces.allow(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Node files of a node whose networks end there have neither overlay nor uplink.
    #[test]
    fn a_network_without_a_topology_is_read_and_written_without_one() {
        let text = json!({
            "name": "blue", "generation": 1, "phase": "Active", "engine": "OVS",
            "bridge": {"name": "br-blue", "mtu": 1500}, "port": {"type": "Veth", "queues": 1},
        });
        let mut network: NodeNetwork = serde_json::from_value(text).unwrap();
        assert_eq!(network.overlay, None);
        assert_eq!(serde_json::to_value(&network).unwrap().get("overlay"), None);
        let overlay = json!({"vni": 5001, "port": 4789, "local": "10.0.0.1", "peers": ["10.0.0.2", "fd00::3"]});
        network.overlay = Some(serde_json::from_value(overlay.clone()).unwrap());
        assert_eq!(serde_json::to_value(&network).unwrap()["overlay"], overlay);
        let of_engine = json!({
            "vni": 5001, "port": 4789, "encapsulation": "Engine", "local": "192.168.50.1", "peers": [],
            "underlay": {"uplink": "fab", "vlan": 10, "prefixLength": 24},
        });
        network.overlay = Some(serde_json::from_value(of_engine.clone()).unwrap());
        assert_eq!(serde_json::to_value(&network).unwrap()["overlay"], of_engine);
        assert_eq!(network.uplink_name().map(ToString::to_string).as_deref(), Some("fab"));
        let uplink = json!({"name": "fab", "vlan": 142});
        network.uplink = Some(serde_json::from_value(uplink.clone()).unwrap());
        assert_eq!(serde_json::to_value(&network).unwrap()["uplink"], uplink);
        assert_eq!((network.for_plugin().overlay, network.for_plugin().uplink), (None, None));
    }
}
