//! Ports by the type of their interface.

use crate::model::port::{DeviceName, PortBackend, SocketPath};
use std::path::PathBuf;
use usnet_crds::SocketRole;
use usnet_ovsdb::Interface;

/// The type of interface that connects to the socket of a pod's program.
pub(super) const VHOST_USER_CLIENT: &str = "dpdkvhostuserclient";
/// Its option with the socket's path.
pub(super) const VHOST_SERVER_PATH: &str = "vhost-server-path";
/// The interface type of kernel devices.
pub(super) const SYSTEM: &str = "system";

/// The endpoint of an interface towards the pod; `None` if usnet does not support its type.
pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT => {
            let path = interface.options.get(VHOST_SERVER_PATH)?;
            let socket = SocketPath::try_from(PathBuf::from(path)).ok()?;
            Some(PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
        }
        // Both are the default.
        "" | SYSTEM => Some(PortBackend::Veth { device: DeviceName::observed(&interface.name) }),
        _ => None,
    }
}
