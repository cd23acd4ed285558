//! The pod's side of each port type that is a socket: the parameters that a program needs to use
//! it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usnet_crds::{EngineKind, MemifMode, SocketRole};
use usnet_dataplane::memif::MemifSecret;
use usnet_dataplane::port::{AttachedPort, PodBackend};

/// The id of the only memif that the engine creates on a socket.
const MEMIF_ID: u32 = 0;

/// The type of an endpoint, as in the description of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum EndpointType {
    /// The protocol of virtio devices in userspace.
    #[serde(rename_all = "camelCase")]
    VhostUser {
        /// Whether the engine moves more packets by packed rings, for which the program asks.
        #[serde(default)]
        packed_rings: bool,
    },
    Memif {
        /// The memif's id on its socket.
        id: u32,
        /// Whether the memif carries Ethernet frames, which is the default, or IP packets.
        #[serde(default, skip_serializing_if = "MemifMode::is_ethernet")]
        mode: MemifMode,
        /// The secret that the engine requires, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<MemifSecret>,
    },
}

/// The program's side of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The program creates the socket and listens; the engine connects.
    Server,
    /// The program connects to the socket that the engine created.
    Client,
}

/// The endpoint of a port; none for a veth or a tap, which the kernel describes.
pub fn pod_endpoint(engine: EngineKind, port: &AttachedPort) -> Option<(EndpointType, Role)> {
    let backend = port.backend.of_pod()?;
    let endpoint = match backend {
        // Measured: docs/fast-programs.md. VPP moves a fifth fewer packets by packed rings.
        PodBackend::VhostUser { .. } => EndpointType::VhostUser { packed_rings: engine == EngineKind::OpenVswitch },
        PodBackend::Memif { mode, .. } => EndpointType::Memif { id: MEMIF_ID, mode, secret: port.secret.clone() },
        PodBackend::Veth { .. } | PodBackend::Tap { .. } => return None,
    };
    let role = match backend.program_role()? {
        SocketRole::Client => Role::Client,
        SocketRole::Server => Role::Server,
    };
    Some((endpoint, role))
}

/// The `type` of a device info file and the object of that name in it, with the socket at `path`.
/// Format: Device Information Specification 1.1.0 of the Network Plumbing Working Group, sections
/// "vhost-user" and "memif".
pub fn device_info(endpoint: &EndpointType, role: Role, path: &str) -> (&'static str, Value) {
    match endpoint {
        EndpointType::VhostUser { .. } => {
            let mode = match role {
                Role::Server => "server",
                Role::Client => "client",
            };
            ("vhost-user", json!({"mode": mode, "path": path}))
        }
        EndpointType::Memif { mode, .. } => {
            let role = match role {
                Role::Server => "master",
                Role::Client => "slave",
            };
            let mode = match mode {
                MemifMode::Ethernet => "ethernet",
                MemifMode::Ip => "ip",
            };
            ("memif", json!({"role": role, "path": path, "mode": mode}))
        }
    }
}
