//! The port of an interface: the spec of its network, converted for the engine. It is fully
//! validated here, before anything is changed.

use crate::attachment::pod_files::names::socket_of;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::path::{Component, Path, PathBuf};
use usnet_crds::{
    EngineKind, MemifSecretKind, MemifSocketKind, NetworkName, NodeNetwork, PortType, RateLimit, SocketRole,
};
use usnet_dataplane::attachment::{AttachmentId, InterfaceName, Pod, Record};
use usnet_dataplane::desired::port_settings;
use usnet_dataplane::engine::TagTooLong;
use usnet_dataplane::memif::{InvalidSecret, InvalidSocket, MemifSecret, MemifSocket};
use usnet_dataplane::port::{AttachedPort, DeviceName, PortBackend, PortName, SocketPath, SocketPathTooLong};
use usnet_dataplane::vpp::check_attachment;

/// Random bytes of a secret. In base64 they are 23 characters, the maximum of a memif.
const SECRET_BYTES: usize = 17;

/// Why the port of a network cannot be created for an interface.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The socket's path.
    #[error(transparent)]
    SocketPath(#[from] SocketPathTooLong),
    /// The memif's socket.
    #[error(transparent)]
    MemifSocket(#[from] InvalidSocket),
    /// VPP resolves the path relative to its own working directory.
    #[error(
        "CNI_NETNS is {path:?}, and a memif with an abstract socket needs an absolute path without \".\" and \"..\" there: the container runtime has to give one, or set spec.port.memif.socket to Volume"
    )]
    NetworkNamespace {
        /// The path.
        path: PathBuf,
    },
    /// The attachment's tag does not fit VPP.
    #[error("CNI_CONTAINERID or CNI_IFNAME cannot be used with VPP")]
    Tag(#[from] TagTooLong),
    /// The port type does not fit the engine. The API rejects such a network.
    #[error(
        "network \"{network}\" has ports of a kind that {engine} does not have ({port}): change spec.port of UserspaceNetwork {network}"
    )]
    UnsupportedByEngine {
        /// The network.
        network: NetworkName,
        /// Its engine.
        engine: EngineKind,
        /// The port type.
        port: &'static str,
    },
    /// A legacy configuration names a socket that another interface of the pod uses.
    #[error(
        "socket {file:?} in the pod's volume is that of its interface {interface}: take \"socketfile\" out of the NetworkAttachmentDefinition, or name another one in one of both"
    )]
    SharedSocket {
        /// The name of the socket.
        file: String,
        /// Which interface has it.
        interface: InterfaceName,
    },
    /// The kernel returned no random bytes.
    #[error("cannot make a secret for the memif")]
    NoRandomBytes(#[source] getrandom::Error),
    /// A secret of the wrong length: a defect of usnet.
    #[error("cannot make a secret for the memif; this is a defect of usnet, please report it")]
    Secret(#[from] InvalidSecret),
}

/// The parameters of an interface's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLocation<'a> {
    /// The pod's directory as the engine sees it.
    pub directory: &'a Path,
    /// The name of the socket's file there.
    pub socket_name: &'a str,
    /// The pod's network namespace.
    pub network_namespace: &'a Path,
}

/// The port of a pod's attachment to a network, with the rates that the pod requests.
///
/// # Errors
/// When the engine could not create or tag it.
pub fn port(
    network: &NodeNetwork,
    attachment: &AttachmentId,
    pod: &Pod,
    requested: RateLimit,
    location: SocketLocation<'_>,
) -> Result<AttachedPort, PortError> {
    if network.engine == EngineKind::Vpp {
        check_attachment(attachment)?;
    }
    let backend = backend(network, attachment, location)?;
    let with_secret =
        network.port.port_type == PortType::Memif && network.port.memif.secret == MemifSecretKind::Generated;
    Ok(AttachedPort {
        name: PortName::of(attachment),
        bridge: network.bridge.name.clone(),
        ownership: network.bridge.ownership,
        backend,
        queues: network.port.queues,
        ring_size: network.port.ring_size,
        secret: if with_secret { Some(generate_secret()?) } else { None },
        settings: port_settings(network, &pod.namespace, &pod.name, requested),
    })
}

/// Whether the pod needs its volume for this port: for the socket's file, or to get the secret.
pub fn needs_volume(port: &AttachedPort) -> bool {
    port.backend.socket_file().is_some() || port.secret.is_some()
}

/// Rejects a socket name that another interface of the pod uses: a configuration that names one
/// fits only one interface of a pod.
///
/// # Errors
/// Which interface has it.
pub fn check_socket_conflict(record: &Record, others: &[Record]) -> Result<(), PortError> {
    let Some(socket) = record.port.backend.socket_file() else { return Ok(()) };
    let shares =
        |other: &&Record| other.id.interface != record.id.interface && other.port.backend.socket_file() == Some(socket);
    match others.iter().find(shares) {
        None => Ok(()),
        Some(other) => Err(PortError::SharedSocket {
            file: socket_of(record).unwrap_or_default(),
            interface: other.id.interface.clone(),
        }),
    }
}

fn backend(
    network: &NodeNetwork,
    attachment: &AttachmentId,
    location: SocketLocation<'_>,
) -> Result<PortBackend, PortError> {
    let file = || location.directory.join(location.socket_name);
    let unsupported_by_engine =
        |port| Err(PortError::UnsupportedByEngine { network: network.name.clone(), engine: network.engine, port });
    match (network.port.port_type, network.engine) {
        (PortType::VhostUser, engine) => {
            let engine_role = network.port.vhost_user.engine_role;
            if engine == EngineKind::OpenVswitch && engine_role == SocketRole::Server {
                return unsupported_by_engine("VhostUser with engineRole Server");
            }
            Ok(PortBackend::VhostUser { socket: SocketPath::try_from(file())?, engine_role })
        }
        (PortType::Veth, _) => Ok(PortBackend::Veth { device: DeviceName::of(attachment) }),
        (PortType::Memif, EngineKind::OpenVswitch) => unsupported_by_engine("Memif"),
        (PortType::Memif, EngineKind::Vpp) => Ok(PortBackend::Memif {
            socket: match network.port.memif.socket {
                MemifSocketKind::Volume => MemifSocket::file(file())?,
                MemifSocketKind::Abstract => abstract_socket(attachment, location.network_namespace)?,
            },
        }),
    }
}

fn abstract_socket(attachment: &AttachmentId, network_namespace: &Path) -> Result<MemifSocket, PortError> {
    // The text is compared: `components` omits a "." in the middle.
    let mut parts = network_namespace.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    let is_normalized = parts.all(|part| part != b"." && part != b"..");
    if !is_normalized || network_namespace.components().next() != Some(Component::RootDir) {
        return Err(PortError::NetworkNamespace { path: network_namespace.to_owned() });
    }
    Ok(MemifSocket::in_namespace(attachment.interface.as_str(), network_namespace)?)
}

fn generate_secret() -> Result<MemifSecret, PortError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(PortError::NoRandomBytes)?;
    Ok(MemifSecret::try_from(URL_SAFE_NO_PAD.encode(bytes))?)
}

#[cfg(test)]
mod tests;
