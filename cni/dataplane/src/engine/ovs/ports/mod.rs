//! The backends of ports: one file for each, with how its interfaces are read and created.
//!
//! This file is the only place in the driver that tells them apart. A new backend is a file beside
//! it, and a line in each function here.

mod afxdp;
mod device;
mod dpdk;
mod patch;
mod unusable;
mod vhost_user;
mod vlan;
mod vxlan;

use super::qos::Shaper;
use crate::model::port::{PortBackend, PortName, SocketPath, TunnelEnds};
pub(super) use dpdk::{options as interface_options, receive_queues, refusal};
use std::collections::BTreeMap;
pub(super) use unusable::{unusable_types, without_af_xdp};
use usnet_crds::{PciAddress, SocketRole, XdpMode};
use usnet_ovsdb::{Condition, Interface, Port, Row};
pub(crate) use vhost_user::INTERFACE_TYPE as VHOST_USER_CLIENT;
pub(in crate::engine::ovs) use vhost_user::SERVER_TYPE as VHOST_USER_SERVER;
pub(super) use vlan::{tagging, tagging_columns};

/// Why ports without support are refused.
const NO_MEMIF: &str = "Open vSwitch does not support memif: use port type VhostUser, or engine VPP";
const NO_TAP: &str = "Open vSwitch has no taps in the network namespaces of pods: use port type Veth";
const NO_NESTED_BOND: &str = "a bond has no bonds; this is a defect of usnet, please report it";
const NO_SUB_INTERFACE: &str =
    "Open vSwitch connects networks to uplinks by patch ports; this is a defect of usnet, please report it";

/// The interface of a port to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewInterface<'a> {
    /// The interface connects to this socket, or listens on it.
    VhostUser(&'a SocketPath, SocketRole),
    /// The interface is the device that has the port's name.
    Device,
    AfXdp(XdpMode),
    Dpdk(PciAddress),
    Patch(&'a PortName),
    Vxlan(&'a TunnelEnds),
}

impl<'a> NewInterface<'a> {
    /// The interface of this name with this backend, or why Open vSwitch does not support it.
    pub(super) fn of(name: &PortName, backend: &'a PortBackend) -> Result<Self, &'static str> {
        match backend {
            PortBackend::VhostUser { socket, engine_role } => Ok(Self::VhostUser(socket, *engine_role)),
            PortBackend::Device { device } if device.as_str() == name.as_str() => Ok(Self::Device),
            PortBackend::AfXdp { device, mode } if device.as_str() == name.as_str() => Ok(Self::AfXdp(*mode)),
            PortBackend::Device { .. } | PortBackend::AfXdp { .. } => Err(device::OTHER_NAME),
            PortBackend::Dpdk { address } => Ok(Self::Dpdk(*address)),
            PortBackend::Patch { peer } => Ok(Self::Patch(peer)),
            PortBackend::Vxlan { ends } => Ok(Self::Vxlan(ends)),
            PortBackend::Memif { .. } => Err(NO_MEMIF),
            PortBackend::Tap { .. } => Err(NO_TAP),
            PortBackend::SubInterface => Err(NO_SUB_INTERFACE),
            PortBackend::Bond { .. } => Err(NO_NESTED_BOND),
        }
    }

    /// What limits the frames that the switch sends through it; `None` if nothing does.
    pub(super) const fn shaper(self) -> Option<Shaper> {
        match self {
            Self::Device => Some(device::SHAPER),
            Self::AfXdp(_) => None,
            Self::VhostUser(..) | Self::Dpdk(_) | Self::Patch(_) | Self::Vxlan(_) => Some(vhost_user::SHAPER),
        }
    }

    /// The columns of the interface, without its name.
    pub(super) fn row(self) -> Row {
        match self {
            Self::VhostUser(socket, role) => vhost_user::row(socket, role),
            Self::Device => device::row(),
            Self::AfXdp(mode) => afxdp::row(mode),
            Self::Dpdk(address) => dpdk::row(address),
            Self::Patch(peer) => patch::row(peer),
            Self::Vxlan(ends) => vxlan::row(ends),
        }
    }

    /// The socket that no other interface may have, and what matches such an interface.
    pub(super) fn exclusive_socket(self) -> Option<(&'a SocketPath, Condition)> {
        match self {
            Self::VhostUser(socket, role) => Some((socket, vhost_user::serves(socket, role))),
            Self::Device | Self::AfXdp(_) | Self::Dpdk(_) | Self::Patch(_) | Self::Vxlan(_) => None,
        }
    }

    /// The socket, if one of these interfaces has it.
    pub(super) fn socket_in_use(self, interfaces: impl IntoIterator<Item = &'a Interface>) -> Option<&'a SocketPath> {
        match self {
            Self::VhostUser(socket, _) => {
                interfaces.into_iter().any(|interface| vhost_user::is_serving(interface, socket)).then_some(socket)
            }
            Self::Device | Self::AfXdp(_) | Self::Dpdk(_) | Self::Patch(_) | Self::Vxlan(_) => None,
        }
    }
}

/// The columns of a port that follow from its backend, added to those of its settings.
pub(super) fn port_row(backend: &PortBackend, settings: Row) -> Row {
    match backend {
        PortBackend::Vxlan { .. } => vxlan::port_row(settings),
        _ => settings,
    }
}

/// What a port is, given its interface; `None` if it is not as usnet creates any.
pub(super) fn backend(port: &Port, interface: &Interface) -> Option<PortBackend> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT | VHOST_USER_SERVER => vhost_user::backend(interface),
        afxdp::INTERFACE_TYPE => afxdp::backend(interface),
        dpdk::INTERFACE_TYPE => dpdk::backend(interface),
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

/// Whether an interface is a device of the kernel, or one that the kernel has from the switch.
pub(super) fn is_of_kernel(interface: &Interface) -> bool {
    device::is_type(&interface.interface_type) || device::is_local(&interface.interface_type)
}

/// The name of the interface at the other end of a patch; none if it is none.
pub(super) fn patch_peer(interface: &Interface) -> Option<&str> {
    (interface.interface_type == patch::INTERFACE_TYPE).then(|| patch::peer(interface)).flatten()
}

/// The error of an interface, with what its cause may be where the switch does not say it.
pub(super) fn explained(interface: &Interface, error: String) -> String {
    match interface.interface_type.as_str() {
        afxdp::INTERFACE_TYPE => afxdp::create_error(&error),
        dpdk::INTERFACE_TYPE => dpdk::attach_error(&error),
        _ => error,
    }
}

/// Whether the frames of an interface are those of a kernel device, by AF_XDP.
pub(super) fn is_af_xdp(interface: &Interface) -> bool {
    interface.interface_type == afxdp::INTERFACE_TYPE
}

/// Whether an interface is a NIC that the switch drives itself.
pub(super) fn is_dpdk(interface: &Interface) -> bool {
    interface.interface_type == dpdk::INTERFACE_TYPE
}

/// Whether the other end of an interface is there: the pod's program, the device, or what is at the
/// other end of the cable.
pub(super) fn has_peer(interface: &Interface) -> bool {
    match interface.interface_type.as_str() {
        dpdk::INTERFACE_TYPE => dpdk::is_connected(interface),
        other => is_connected(other, &interface.status),
    }
}

/// Whether the other end of an interface is there. Types that usnet does not support report it as
/// vhost-user does.
pub(crate) fn is_connected(interface_type: &str, status: &BTreeMap<String, String>) -> bool {
    let is_of_device = device::is_type(interface_type) || interface_type == afxdp::INTERFACE_TYPE;
    if is_of_device { device::is_connected(status) } else { vhost_user::is_connected(status) }
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
