//! The pod's side of each port type that is a socket: what a program needs to know to use it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usnet_crds::{MemifMode, SocketRole};
use usnet_dataplane::memif::MemifSecret;
use usnet_dataplane::port::{AttachedPort, PortBackend};

/// The engine creates one memif per socket.
const MEMIF_ID: u32 = 0;

/// The type of an endpoint, as in the description of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum EndpointType {
    /// vhost-user, as virtio devices in userspace speak it.
    VhostUser,
    /// A memif.
    Memif {
        /// The memif's id on its socket.
        id: u32,
        /// What it carries: Ethernet frames unless it says something else.
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
    /// It creates the socket and listens; the engine connects.
    Server,
    /// It connects to the socket that the engine created.
    Client,
}

/// The endpoint of a port; none for a veth, which the kernel describes.
pub fn pod_endpoint(port: &AttachedPort) -> Option<(EndpointType, Role)> {
    match &port.backend {
        PortBackend::VhostUser { engine_role, .. } => Some((EndpointType::VhostUser, peer_of(*engine_role))),
        // The engine is the master of a memif, which listens.
        PortBackend::Memif { mode, .. } => {
            Some((EndpointType::Memif { id: MEMIF_ID, mode: *mode, secret: port.secret.clone() }, Role::Client))
        }
        PortBackend::Veth { .. } => None,
    }
}

fn peer_of(engine_role: SocketRole) -> Role {
    match engine_role {
        SocketRole::Client => Role::Server,
        SocketRole::Server => Role::Client,
    }
}

/// The `type` of a device info file and the object of that name in it, with the socket at `path`.
/// Format: Device Information Specification 1.1.0 of the Network Plumbing Working Group, sections
/// "vhost-user" and "memif".
pub fn device_info(endpoint: &EndpointType, role: Role, path: &str) -> (&'static str, Value) {
    match endpoint {
        EndpointType::VhostUser => {
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
