//! The types of ports: one file for each, with how its interfaces are read and created.
//!
//! This file is the only place in the driver that tells them apart. A new type of port is a file
//! beside it, and a line in each function here.

mod patch;
mod unusable;
mod veth;
mod vhost_user;
mod vlan;
mod vxlan;

use super::qos::Shaper;
use crate::model::port::{AttachedPort, PortBackend, SocketPath};
pub(super) use patch::{peer as patch_peer, row as patch_row};
use std::collections::BTreeMap;
pub(super) use unusable::unusable_types;
use usnet_crds::SocketRole;
use usnet_ovsdb::{Condition, Interface, Row};
pub(super) use veth::row as device_row;
pub(crate) use vhost_user::INTERFACE_TYPE as VHOST_USER_CLIENT;
pub(super) use vlan::{tagging, tagging_columns, vlan};
pub(super) use vxlan::{ends as tunnel_ends, row as tunnel_row};

/// Why a port without support is refused.
const NO_MEMIF: &str = "Open vSwitch does not support memif: use port type VhostUser, or engine VPP";

/// The interface of a port to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewInterface<'a> {
    /// It connects to this socket.
    VhostUser(&'a SocketPath),
    /// The device of the port's name.
    Veth,
}

impl<'a> NewInterface<'a> {
    /// The interface of a port, or why Open vSwitch does not support it.
    pub(super) fn plan(port: &'a AttachedPort) -> Result<Self, &'static str> {
        match &port.backend {
            PortBackend::VhostUser { socket, engine_role: SocketRole::Client } => Ok(Self::VhostUser(socket)),
            PortBackend::VhostUser { engine_role: SocketRole::Server, .. } => Err(vhost_user::NO_SERVER),
            PortBackend::Veth { device } if device.as_str() == port.name.as_str() => Ok(Self::Veth),
            PortBackend::Veth { .. } => Err(veth::OTHER_NAME),
            PortBackend::Memif { .. } => Err(NO_MEMIF),
        }
    }

    /// What limits the frames that the pod receives.
    pub(super) const fn shaper(self) -> Shaper {
        match self {
            Self::VhostUser(_) => vhost_user::SHAPER,
            Self::Veth => veth::SHAPER,
        }
    }

    /// Its columns, without its name.
    pub(super) fn row(self) -> Row {
        match self {
            Self::VhostUser(socket) => vhost_user::row(socket),
            Self::Veth => veth::row(),
        }
    }

    /// The socket that no other interface may have, and what matches such an interface.
    pub(super) fn exclusive_socket(self) -> Option<(&'a SocketPath, Condition)> {
        match self {
            Self::VhostUser(socket) => Some((socket, vhost_user::serves(socket))),
            Self::Veth => None,
        }
    }

    /// The socket, if one of these interfaces has it.
    pub(super) fn socket_in_use(self, interfaces: impl IntoIterator<Item = &'a Interface>) -> Option<&'a SocketPath> {
        match self {
            Self::VhostUser(socket) => {
                interfaces.into_iter().any(|interface| vhost_user::is_serving(interface, socket)).then_some(socket)
            }
            Self::Veth => None,
        }
    }
}

/// The endpoint of an interface towards the pod; `None` if usnet does not support its type.
pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT => vhost_user::backend(interface),
        kernel if veth::is_type(kernel) => veth::backend(interface),
        _ => None,
    }
}

/// Whether the other end of an interface is there. Types that usnet does not support report it as
/// vhost-user does.
pub(crate) fn is_connected(interface_type: &str, status: &BTreeMap<String, String>) -> bool {
    if veth::is_type(interface_type) { veth::is_connected(status) } else { vhost_user::is_connected(status) }
}

/// What limits the frames that the pod receives through a port with this backend.
pub(super) const fn shaper(backend: &PortBackend) -> Shaper {
    match backend {
        PortBackend::Veth { .. } => veth::SHAPER,
        PortBackend::VhostUser { .. } | PortBackend::Memif { .. } => vhost_user::SHAPER,
    }
}
