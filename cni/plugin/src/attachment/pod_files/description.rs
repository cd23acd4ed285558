//! The description of an interface for the pod's program: the file `<interface>.json` in the pod's
//! `usnet` volume.
//!
//! It is written last: when a program finds it, the engine serves the socket. One side of the
//! socket listens and the other connects, and reconnects when one of them restarts; `role` is the
//! program's side. The memif driver of DPDK takes `role`, `id`, `secret`, the socket and the binary
//! logarithm of `ringSize` (`rsize`) unchanged; its virtio driver takes `ringSize` itself
//! (`queue_size`).
//!
//! A memif with an abstract socket and no secret needs no volume and has no description: its socket
//! has the interface's name, in the network namespace of the pod, and its id is 0.

use crate::protocol::result::{AssignedAddress, Assignment, Route};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use usnet_crds::{MacAddress, Mtu, NetworkName, Queues, RingSize, SocketRole};
use usnet_dataplane::attachment::{InterfaceName, Record};
use usnet_dataplane::memif::MemifSecret;
use usnet_dataplane::port::PortBackend;

/// The engine creates one memif per socket.
const MEMIF_ID: u32 = 0;

/// The type of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Kind {
    /// vhost-user, as virtio devices in userspace speak it.
    VhostUser,
    /// A memif that carries Ethernet frames.
    Memif {
        /// The memif's id on its socket.
        id: u32,
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

/// Where the socket is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Socket {
    /// The name of a file in the folder of this description, wherever the pod mounts it.
    #[serde(rename = "socket")]
    File(String),
    /// The name of an abstract socket in the pod's network namespace.
    #[serde(rename = "abstractSocket")]
    Abstract(String),
}

impl fmt::Display for Socket {
    /// An abstract socket is written with a leading `@`, as is usual.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => formatter.write_str(name),
            Self::Abstract(name) => write!(formatter, "@{name}"),
        }
    }
}

/// The description of an interface for the pod's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The layout of this file; [`Description::VERSION`] when written by this release.
    pub version: u32,
    /// The network.
    pub network: NetworkName,
    /// The interface's name.
    pub interface: InterfaceName,
    /// The type of the interface.
    #[serde(flatten)]
    pub kind: Kind,
    /// The program's side of the socket.
    pub role: Role,
    /// Where the socket is.
    #[serde(flatten)]
    pub socket: Socket,
    /// The MAC address that the program should use.
    pub mac: MacAddress,
    /// Largest payload, in bytes.
    pub mtu: Mtu,
    /// Queue pairs that the engine serves.
    pub queues: Queues,
    /// Descriptors that each ring should have.
    pub ring_size: RingSize,
    /// Addresses with prefix lengths, and their gateways.
    pub ips: Vec<AssignedAddress>,
    /// Routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// DNS settings in CNI's format, if IPAM returned any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Value>,
}

impl Description {
    /// The layout that this release writes.
    pub const VERSION: u32 = 1;

    /// The description of an attachment; none for a veth, which is described by the kernel.
    pub fn new(record: &Record, mac: MacAddress, assignment: &Assignment) -> Option<Self> {
        let (interface, port) = (&record.id.interface, &record.port);
        let (kind, role) = match &port.backend {
            PortBackend::VhostUser { engine_role: SocketRole::Client, .. } => (Kind::VhostUser, Role::Server),
            PortBackend::VhostUser { engine_role: SocketRole::Server, .. } => (Kind::VhostUser, Role::Client),
            PortBackend::Memif { .. } => (Kind::Memif { id: MEMIF_ID, secret: port.secret.clone() }, Role::Client),
            PortBackend::Veth { .. } => return None,
        };
        Some(Self {
            version: Self::VERSION,
            network: record.network.clone(),
            interface: interface.clone(),
            kind,
            role,
            socket: match port.backend.socket_file() {
                Some(path) => Socket::File(path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
                None => Socket::Abstract(interface.to_string()),
            },
            mac,
            mtu: port.settings.mtu,
            queues: port.queues,
            ring_size: port.ring_size,
            ips: assignment.ips.clone(),
            routes: assignment.routes.clone(),
            dns: assignment.dns.clone().filter(|dns| dns.as_object().is_some_and(|parts| !parts.is_empty())),
        })
    }

    /// Whether the engine creates the socket's file.
    pub fn engine_creates_socket(&self) -> bool {
        self.role == Role::Client && matches!(self.socket, Socket::File(_))
    }

    /// The name of an interface's description.
    pub fn file_name(interface: &InterfaceName) -> String {
        format!("{interface}.json")
    }

    /// The name of an interface's socket, unless it was attached by a legacy configuration.
    pub fn socket_name(interface: &InterfaceName) -> String {
        format!("{interface}.sock")
    }

    /// The content of the file.
    pub fn to_json(&self) -> Vec<u8> {
        let mut text = format!("{:#}", serde_json::json!(self)).into_bytes();
        text.push(b'\n');
        text
    }
}
