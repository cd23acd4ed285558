//! What the port of a pod is in the engine.

use super::name::DeviceName;
use super::socket_path::SocketPath;
use super::tap_device::TapDevice;
use crate::model::memif::MemifSocket;
use std::path::Path;
use usnet_crds::{MemifMode, PortType, SocketRole};

/// A [backend](super::PortBackend) that ports of pods have: one for each type in the API. What only
/// pods' ports need is decided by this, so that other backends do not occur there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodBackend<'a> {
    VhostUser { socket: &'a SocketPath, engine_role: SocketRole },
    Memif { socket: &'a MemifSocket, mode: MemifMode },
    Veth { device: &'a DeviceName },
    Tap { device: &'a TapDevice },
}

impl<'a> PodBackend<'a> {
    /// The type of the port in the API.
    pub const fn port_type(self) -> PortType {
        match self {
            Self::VhostUser { .. } => PortType::VhostUser,
            Self::Memif { .. } => PortType::Memif,
            Self::Veth { .. } => PortType::Veth,
            Self::Tap { .. } => PortType::Tap,
        }
    }

    /// Which end of the socket the program in the pod is; `None` without a socket.
    pub const fn program_role(self) -> Option<SocketRole> {
        match self {
            Self::VhostUser { engine_role: SocketRole::Client, .. } => Some(SocketRole::Server),
            Self::VhostUser { engine_role: SocketRole::Server, .. } => Some(SocketRole::Client),
            // The engine is the master of a memif, and the master listens.
            Self::Memif { .. } => Some(SocketRole::Client),
            Self::Veth { .. } | Self::Tap { .. } => None,
        }
    }

    /// The file of the socket; `None` without a socket, or for one without a file.
    pub fn socket_file(self) -> Option<&'a Path> {
        match self {
            Self::VhostUser { socket, .. } => Some(socket.as_path()),
            Self::Memif { socket, .. } => socket.path(),
            Self::Veth { .. } | Self::Tap { .. } => None,
        }
    }
}
