//! The errors of converting the spec of a network to a port.

use crate::protocol::error::ErrorCode;
use std::path::PathBuf;
use usnet_crds::{EngineKind, NetworkName};
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::engine::TagTooLong;
use usnet_dataplane::memif::{InvalidSecret, InvalidSocket};
use usnet_dataplane::port::{NamespacePathTooLong, SocketPathTooLong};

#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error(transparent)]
    SocketPath(#[from] SocketPathTooLong),
    #[error(transparent)]
    MemifSocket(#[from] InvalidSocket),
    /// VPP would resolve the path relative to its own working directory.
    #[error(
        "CNI_NETNS is {path:?}, and a memif with an abstract socket needs an absolute path without \".\" and \"..\" there: the container runtime must pass one, or set spec.port.memif.socket to Volume"
    )]
    NetworkNamespace { path: PathBuf },
    #[error("the tap cannot be created there: use port.type Veth")]
    TapNamespace(#[from] NamespacePathTooLong),
    #[error("CNI_CONTAINERID or CNI_IFNAME cannot be used with {}", .0.engine)]
    Tag(#[from] TagTooLong),
    /// The API rejects such a network.
    #[error(
        "network \"{network}\" has a port type that {engine} does not support ({port}): change spec.port of UserspaceNetwork {network}"
    )]
    UnsupportedByEngine { network: NetworkName, engine: EngineKind, port: String },
    /// A legacy configuration names a socket that another interface of the pod uses.
    #[error(
        "socket {file:?} in the pod's volume is used by its interface {interface}: remove \"socketfile\" from the NetworkAttachmentDefinition, or set another name in one of the two"
    )]
    SharedSocket { file: String, interface: InterfaceName },
    #[error("cannot generate a secret for the memif")]
    NoRandomBytes(#[source] getrandom::Error),
    #[error("cannot generate a secret for the memif; this is a defect of usnet, please report it")]
    Secret(#[from] InvalidSecret),
}

impl PortError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NetworkNamespace { .. }
            | Self::TapNamespace(_)
            | Self::Tag(_)
            | Self::MemifSocket(InvalidSocket::Character { .. }) => ErrorCode::InvalidEnvironment,
            Self::UnsupportedByEngine { .. } | Self::SharedSocket { .. } => ErrorCode::InvalidConfiguration,
            Self::SocketPath(_) | Self::MemifSocket(_) | Self::NoRandomBytes(_) => ErrorCode::IoFailure,
            Self::Secret(_) => ErrorCode::Internal,
        }
    }
}
