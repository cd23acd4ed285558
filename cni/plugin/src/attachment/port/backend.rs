//! The engine's side of each port type.

use super::error::PortError;
use super::memif;
use std::path::Path;
use usnet_crds::{AF_XDP_MTU_MAX, EngineKind, NodeNetwork, Port, PortType, RateLimit, VethDatapath, XdpMode};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::memif::MemifSecret;
use usnet_dataplane::port::{DeviceName, PortBackend, SocketPath, TapDevice};

/// Where the socket of an interface is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLocation<'a> {
    /// The pod's directory as the engine sees it.
    pub directory: &'a Path,
    /// The name of the socket's file in the directory.
    pub socket_name: &'a str,
    /// The pod's network namespace, for a tap, or a memif with an abstract socket.
    pub network_namespace: &'a Path,
}

pub(super) fn backend(
    network: &NodeNetwork,
    attachment: &AttachmentId,
    location: SocketLocation<'_>,
    rate_limit: RateLimit,
) -> Result<PortBackend, PortError> {
    if let Some(port) = unsupported(network.engine, &network.port) {
        return Err(PortError::UnsupportedByEngine { network: network.name.clone(), engine: network.engine, port });
    }
    let file = || location.directory.join(location.socket_name);
    Ok(match network.port.port_type {
        PortType::VhostUser => {
            let engine_role = network.port.vhost_user.engine_role;
            PortBackend::VhostUser { socket: SocketPath::try_from(file())?, engine_role }
        }
        PortType::Veth => veth(network, attachment, rate_limit),
        PortType::Tap => {
            let namespace = location.network_namespace;
            PortBackend::Tap { device: TapDevice::new(&attachment.interface, namespace)? }
        }
        PortType::Memif => PortBackend::Memif {
            socket: memif::socket(network.port.memif.socket, file, attachment, location.network_namespace)?,
            mode: network.port.memif.mode,
        },
    })
}

/// The device, by AF_XDP where the network has that: not where what the pod receives is limited,
/// which the kernel does, nor with an MTU that the API would refuse: Open vSwitch 3.1 has such a
/// device by AF_XDP all the same, whose frames have a page each.
fn veth(network: &NodeNetwork, attachment: &AttachmentId, rate_limit: RateLimit) -> PortBackend {
    let device = DeviceName::of(attachment);
    match network.port.veth.datapath {
        VethDatapath::AfXdp if rate_limit.ingress_kbps.is_none() && network.bridge.mtu.get() <= AF_XDP_MTU_MAX => {
            PortBackend::AfXdp { device, mode: XdpMode::BestEffort }
        }
        VethDatapath::AfXdp | VethDatapath::Kernel => PortBackend::Device { device },
    }
}

/// The port type that an engine does not support, if it is that. The API rejects such networks.
fn unsupported(engine: EngineKind, port: &Port) -> Option<String> {
    let port_type = port.port_type;
    (!engine.traits().port_types.contains(&port_type)).then(|| port_type.as_str().to_owned())
}

/// The secret that the pod's program has to present, if this port type has one.
pub(super) fn secret(port: &Port) -> Result<Option<MemifSecret>, PortError> {
    match port.port_type {
        PortType::Memif => memif::secret(port.memif.secret),
        PortType::VhostUser | PortType::Veth | PortType::Tap => Ok(None),
    }
}
