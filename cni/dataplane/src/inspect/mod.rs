//! What an engine knows beside what usnet configured: learned addresses, and texts for a bundle of
//! diagnostics. Read on demand, over connections of its own; nothing is changed.
//!
//! `open_vswitch` and `vpp` each convert the answers of one engine (pure), and read them (IO).

mod open_vswitch;
#[cfg(test)]
mod tests;
mod vpp;

use crate::engine::EngineError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;

/// How long one exchange with an engine may take.
const TIMEOUT: Duration = Duration::from_secs(4);

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

/// A text of an engine.
#[derive(Debug)]
pub struct EngineText {
    /// What it is, as the name of a file.
    pub name: String,
    /// The text, or why there is none.
    pub text: Result<String, EngineError>,
}

/// The addresses that a bridge has learned. The name is that of the engine: of a bridge domain its
/// id in digits.
///
/// # Errors
/// When the engine does not answer, or has no such bridge.
pub fn learned_macs(engine: EngineKind, socket: &Path, bridge: &str) -> Result<Vec<LearnedMac>, EngineError> {
    match engine {
        EngineKind::OpenVswitch => open_vswitch::learned_macs(socket, bridge),
        EngineKind::Vpp => vpp::learned_macs(socket, bridge),
    }
}

/// The state of an engine in its own words. Texts may contain what others have configured there.
pub fn texts(engine: EngineKind, socket: &Path) -> Vec<EngineText> {
    match engine {
        EngineKind::OpenVswitch => open_vswitch::texts(socket),
        EngineKind::Vpp => vpp::texts(socket),
    }
}

fn unavailable(engine: EngineKind, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EngineError {
    EngineError::Unavailable { engine, source: source.into() }
}
