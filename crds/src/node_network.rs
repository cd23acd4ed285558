//! One network as one node should have it: what the controller compiles, the agent programs and the plugin attaches to.

use crate::{BridgeName, Mtu, NetworkName, Queues, VlanTag};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The software switch that carries a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Engine {
    /// Open vSwitch with its userspace (netdev) datapath.
    #[serde(rename = "OVS")]
    OpenVswitch,
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenVswitch => formatter.write_str("Open vSwitch"),
        }
    }
}

/// How a pod's interface meets the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum PortType {
    /// A vhost-user socket that the pod's program listens on and the engine connects to.
    #[default]
    VhostUser,
}

/// The bridge of a network on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Bridge {
    /// Its name in the engine.
    pub name: BridgeName,
    /// Its MTU in bytes, and that of every port on it.
    pub mtu: Mtu,
}

/// How the frames of a port are tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode")]
pub enum Vlan {
    /// Untagged at the pod, in this VLAN on the bridge.
    Access {
        /// The VLAN.
        tag: VlanTag,
    },
}

/// What every port of a network starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// How the pod's interface meets the engine.
    #[serde(rename = "type")]
    pub port_type: PortType,
    /// Queue pairs, told to the pod's program.
    pub queues: Queues,
    /// The VLAN; none means untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
}

/// Whether pods may still join a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Pods may attach.
    #[default]
    Active,
    /// The network is being deleted: running pods keep it, new ones are refused.
    Draining,
}

/// One network as one node should have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeNetwork {
    /// The network's name.
    pub name: NetworkName,
    /// The `metadata.generation` of the network that this was compiled from.
    pub generation: i64,
    /// Whether pods may still join.
    #[serde(default)]
    pub phase: Phase,
    /// Who carries it.
    pub engine: Engine,
    /// Its bridge.
    pub bridge: Bridge,
    /// What its ports start from.
    pub port: Port,
    /// Namespaces whose pods may attach.
    pub allowed_namespaces: BTreeSet<String>,
    /// A CNI IPAM configuration, passed on as it is; none means that ports get no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "api", schemars(schema_with = "crate::schema::any_object"))]
    pub ipam: Option<serde_json::Value>,
}
