//! The backends of ports: one file for each, with how its interfaces are read and created.
//!
//! This file is the only place in the driver that tells them apart. A new backend is a file beside
//! it, and a line in each function here.

mod device;
mod patch;
mod unusable;
mod vhost_user;
mod vlan;
mod vxlan;

use super::qos::Shaper;
use crate::model::port::{DesiredPort, PortBackend, PortName, SocketPath, TunnelEnds};
use std::collections::BTreeMap;
pub(super) use unusable::unusable_types;
use usnet_crds::SocketRole;
use usnet_ovsdb::{Condition, Interface, Port, Row};
pub(crate) use vhost_user::INTERFACE_TYPE as VHOST_USER_CLIENT;
pub(in crate::engine::ovs) use vhost_user::SERVER_TYPE as VHOST_USER_SERVER;
pub(super) use vlan::{tagging, tagging_columns};

/// Why ports without support are refused.
const NO_MEMIF: &str = "Open vSwitch does not support memif: use port type VhostUser, or engine VPP";
const NO_SUB_INTERFACE: &str =
    "Open vSwitch connects networks to uplinks by patch ports; this is a defect of usnet, please report it";

/// The interface of a port to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewInterface<'a> {
    /// The interface connects to this socket, or listens on it.
    VhostUser(&'a SocketPath, SocketRole),
    /// The interface is the device that has the port's name.
    Device,
    Patch(&'a PortName),
    Vxlan(&'a TunnelEnds),
}

impl<'a> NewInterface<'a> {
    /// The interface of a port, or why Open vSwitch does not support it.
    pub(super) fn plan(port: &'a DesiredPort) -> Result<Self, &'static str> {
        match &port.backend {
            PortBackend::VhostUser { socket, engine_role } => Ok(Self::VhostUser(socket, *engine_role)),
            PortBackend::Device { device } if device.as_str() == port.name.as_str() => Ok(Self::Device),
            PortBackend::Device { .. } => Err(device::OTHER_NAME),
            PortBackend::Patch { peer } => Ok(Self::Patch(peer)),
            PortBackend::Vxlan { ends } => Ok(Self::Vxlan(ends)),
            PortBackend::Memif { .. } => Err(NO_MEMIF),
            PortBackend::SubInterface => Err(NO_SUB_INTERFACE),
        }
    }

    /// What limits the frames that the switch sends through it.
    pub(super) const fn shaper(self) -> Shaper {
        match self {
            Self::Device => device::SHAPER,
            Self::VhostUser(..) | Self::Patch(_) | Self::Vxlan(_) => vhost_user::SHAPER,
        }
    }

    /// The columns of the interface, without its name.
    pub(super) fn row(self) -> Row {
        match self {
            Self::VhostUser(socket, role) => vhost_user::row(socket, role),
            Self::Device => device::row(),
            Self::Patch(peer) => patch::row(peer),
            Self::Vxlan(ends) => vxlan::row(ends),
        }
    }

    /// The columns of its port that follow from the backend, added to those of its settings.
    pub(super) fn port_row(self, settings: Row) -> Row {
        match self {
            Self::Vxlan(_) => vxlan::port_row(settings),
            Self::VhostUser(..) | Self::Device | Self::Patch(_) => settings,
        }
    }

    /// The socket that no other interface may have, and what matches such an interface.
    pub(super) fn exclusive_socket(self) -> Option<(&'a SocketPath, Condition)> {
        match self {
            Self::VhostUser(socket, role) => Some((socket, vhost_user::serves(socket, role))),
            Self::Device | Self::Patch(_) | Self::Vxlan(_) => None,
        }
    }

    /// The socket, if one of these interfaces has it.
    pub(super) fn socket_in_use(self, interfaces: impl IntoIterator<Item = &'a Interface>) -> Option<&'a SocketPath> {
        match self {
            Self::VhostUser(socket, _) => {
                interfaces.into_iter().any(|interface| vhost_user::is_serving(interface, socket)).then_some(socket)
            }
            Self::Device | Self::Patch(_) | Self::Vxlan(_) => None,
        }
    }
}

/// What a port is, given its interface; `None` if it is not as usnet creates any.
pub(super) fn backend(port: &Port, interface: &Interface) -> Option<PortBackend> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT | VHOST_USER_SERVER => vhost_user::backend(interface),
        patch::INTERFACE_TYPE => patch::backend(interface),
        vxlan::INTERFACE_TYPE => vxlan::backend(port, interface),
        kernel if device::is_type(kernel) => device::backend(interface),
        _ => None,
    }
}

/// Whether an interface is a vhost-user port.
pub(super) fn is_vhost_user(interface: &Interface) -> bool {
    [VHOST_USER_CLIENT, VHOST_USER_SERVER].contains(&interface.interface_type.as_str())
}

/// Whether an interface is a tunnel that usnet could have created.
pub(super) fn is_tunnel(interface: &Interface) -> bool {
    vxlan::ends(interface).is_some()
}

/// Whether the other end of an interface is there. Types that usnet does not support report it as
/// vhost-user does.
pub(crate) fn is_connected(interface_type: &str, status: &BTreeMap<String, String>) -> bool {
    if device::is_type(interface_type) { device::is_connected(status) } else { vhost_user::is_connected(status) }
}

/// What limits the frames that the switch sends through an interface; `None` if usnet limits none
/// of its type.
pub(super) fn shaper(interface: &Interface) -> Option<Shaper> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT | VHOST_USER_SERVER => Some(vhost_user::SHAPER),
        kernel if device::is_type(kernel) => Some(device::SHAPER),
        _ => None,
    }
}
