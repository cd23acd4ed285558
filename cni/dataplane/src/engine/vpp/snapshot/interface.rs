//! Interfaces, whether usnet owns them or not.

use crate::engine::vpp::qos::Policed;
use crate::model::memif::{MemifSocket, MemifSocketIds};
use crate::model::observed::Tagging;
use crate::model::owner::Owner;
use crate::model::port::{DeviceName, PortBackend, SocketPath};
use std::path::PathBuf;
use usnet_crds::SocketRole;

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Interface {
    /// VPP's name of it.
    pub(in crate::engine::vpp) name: String,
    /// What it belongs to; `None` if usnet does not own it.
    pub(in crate::engine::vpp) owner: Option<Owner>,
    pub(in crate::engine::vpp) is_tagged: bool,
    pub(in crate::engine::vpp) kind: InterfaceKind,
    /// The bridge domain that it is in.
    pub(in crate::engine::vpp) domain: Option<u32>,
    pub(in crate::engine::vpp) mtu: u32,
    pub(in crate::engine::vpp) tagging: Tagging,
    pub(in crate::engine::vpp) policed: Policed,
    pub(in crate::engine::vpp) is_enabled: bool,
    pub(in crate::engine::vpp) has_peer: bool,
}

/// The kind of an interface, as far as usnet supports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum InterfaceKind {
    Memif {
        socket_id: u32,
        socket: String,
        is_server: bool,
    },
    VhostUser {
        socket: String,
        is_server: bool,
    },
    /// A host interface (af_packet) on a kernel device.
    AfPacket {
        name: String,
    },
    Other,
}

impl InterfaceKind {
    /// The name of its socket or device.
    pub(in crate::engine::vpp) fn socket(&self) -> Option<&str> {
        match self {
            Self::Memif { socket, .. } | Self::VhostUser { socket, .. } => Some(socket),
            Self::AfPacket { name } => Some(name),
            Self::Other => None,
        }
    }

    /// The id of its memif socket.
    pub(in crate::engine::vpp) fn socket_id(&self) -> Option<u32> {
        match self {
            Self::Memif { socket_id, .. } => Some(*socket_id),
            Self::VhostUser { .. } | Self::AfPacket { .. } | Self::Other => None,
        }
    }
}

impl Interface {
    /// Its endpoint towards the pod; `None` if usnet does not support this kind.
    pub(in crate::engine::vpp) fn backend(&self) -> Option<PortBackend> {
        match &self.kind {
            InterfaceKind::Memif { socket, is_server: true, .. } => {
                Some(PortBackend::Memif { socket: MemifSocket::parse(socket)? })
            }
            InterfaceKind::VhostUser { socket, is_server } => {
                let engine_role = if *is_server { SocketRole::Server } else { SocketRole::Client };
                Some(PortBackend::VhostUser { socket: SocketPath::try_from(PathBuf::from(socket)).ok()?, engine_role })
            }
            InterfaceKind::AfPacket { name } => Some(PortBackend::Veth { device: DeviceName::observed(name) }),
            InterfaceKind::Memif { is_server: false, .. } | InterfaceKind::Other => None,
        }
    }

    /// Whether its creation by usnet was interrupted before it was tagged: it is untagged, and is
    /// on a memif socket id that usnet owns or on a device with a generated name.
    pub(in crate::engine::vpp) fn is_incomplete(&self, own_socket_ids: MemifSocketIds) -> bool {
        let has_own_endpoint = match &self.kind {
            InterfaceKind::Memif { socket_id, .. } => own_socket_ids.contains(*socket_id),
            InterfaceKind::AfPacket { name } => DeviceName::observed(name).has_generated_name(),
            InterfaceKind::VhostUser { .. } | InterfaceKind::Other => false,
        };
        !self.is_tagged && has_own_endpoint
    }
}
