//! The port of a pod, as it is in a record.

use super::backend::PortBackend;
use super::name::PortName;
use super::settings::PortSettings;
use crate::model::memif::MemifSecret;
use serde::{Deserialize, Serialize};
use usnet_crds::{BridgeName, Ownership, Queues, RingSize};

/// A port that an attachment has, or should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedPort {
    pub name: PortName,
    pub bridge: BridgeName,
    /// Whether usnet owns that bridge or adopted it.
    #[serde(default)]
    pub ownership: Ownership,
    #[serde(rename = "connection")]
    pub backend: PortBackend,
    /// Queue pairs that are configured for the application in the pod.
    pub queues: Queues,
    /// Descriptors of each ring that are configured for the application in the pod.
    #[serde(default)]
    pub ring_size: RingSize,
    /// The secret that the memif's peer must present; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<MemifSecret>,
    pub settings: PortSettings,
    /// Why the engine has the device by packet sockets, although the network asks for AF_XDP;
    /// `None` if it has what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_af_xdp: Option<String>,
}
