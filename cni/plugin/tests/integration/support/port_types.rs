//! The port types.

use usnet_crds::{Memif, MemifMode, MemifSecretKind, MemifSocketKind, Port, PortType, SocketRole, VhostUser};

/// A vhost-user port where the pod's program listens.
pub(crate) fn vhost_user() -> Port {
    Port::default()
}

/// A vhost-user port where the engine listens.
pub(crate) fn vhost_user_server() -> Port {
    Port { vhost_user: VhostUser { engine_role: SocketRole::Server }, ..Port::default() }
}

pub(crate) fn memif(socket: MemifSocketKind, secret: MemifSecretKind) -> Port {
    Port { port_type: PortType::Memif, memif: Memif { socket, secret, ..Memif::default() }, ..Port::default() }
}

pub(crate) fn memif_in_volume() -> Port {
    memif(MemifSocketKind::Volume, MemifSecretKind::None)
}

pub(crate) fn memif_in_namespace() -> Port {
    memif(MemifSocketKind::Abstract, MemifSecretKind::None)
}

/// A memif that carries IP packets.
pub(crate) fn memif_in_ip_mode() -> Port {
    let port = memif_in_volume();
    Port { memif: Memif { mode: MemifMode::Ip, ..port.memif }, ..port }
}

pub(crate) fn tap() -> Port {
    Port { port_type: PortType::Tap, ..Port::default() }
}

pub(crate) fn veth() -> Port {
    Port { port_type: PortType::Veth, ..Port::default() }
}

/// All that VPP has but veth.
pub(crate) fn all() -> [Port; 6] {
    [
        vhost_user(),
        vhost_user_server(),
        memif_in_volume(),
        memif(MemifSocketKind::Volume, MemifSecretKind::Generated),
        memif_in_namespace(),
        memif(MemifSocketKind::Abstract, MemifSecretKind::Generated),
    ]
}
