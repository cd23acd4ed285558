//! Addresses that bridges learn.

use serde::{Deserialize, Serialize};

/// What a port is to its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortKind {
    /// The port of a pod.
    Pod,
    /// Connects the bridge with other nodes: a patch port or sub-interface, a device or a tunnel.
    Nodes,
    /// Anything else, such as a gateway or a port of others.
    Other,
}

/// An address that a bridge has learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedMac {
    /// The address, in lower case.
    pub mac: String,
    /// In which VLAN of the bridge, 0 for none; VPP does not distinguish them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// The port behind which it is. Of a pod the name by which usnet knows the port.
    pub port: String,
    /// What that port is.
    pub kind: PortKind,
    /// Seconds since its last frame; VPP does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<u64>,
}
