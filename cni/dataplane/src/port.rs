//! One end in the engine.

use crate::attachment::AttachmentId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use usnet_crds::names::fnv1a;
use usnet_crds::{BridgeName, Mtu, NetworkName, Queues, VlanTag};

/// Longest path of a unix socket, in bytes (`sun_path` without its NUL). Engines accept longer ones and never connect.
pub const SOCKET_PATH_MAX: usize = 107;

/// A socket path that no engine could use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "socket path {} has {} bytes, and a unix socket takes at most {SOCKET_PATH_MAX}: use a shorter run folder",
    path.display(),
    path.as_os_str().len()
)]
pub struct SocketPathTooLong {
    path: PathBuf,
}

/// The path of a unix socket, short enough for the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "PathBuf", into = "PathBuf")]
pub struct SocketPath(PathBuf);

impl SocketPath {
    /// The path itself.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl TryFrom<PathBuf> for SocketPath {
    type Error = SocketPathTooLong;
    fn try_from(path: PathBuf) -> Result<Self, SocketPathTooLong> {
        if path.as_os_str().len() <= SOCKET_PATH_MAX { Ok(Self(path)) } else { Err(SocketPathTooLong { path }) }
    }
}

impl From<SocketPath> for PathBuf {
    fn from(path: SocketPath) -> Self {
        path.0
    }
}

/// The name of a port in the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortName(String);

impl PortName {
    /// The name of an attachment's port: the same each time, so that a repeated ADD finds its own earlier work.
    pub fn of(attachment: &AttachmentId) -> Self {
        // `vhu` and 11 characters is what OpenStack names such ports, and fits a network device's name.
        Self(format!("vhu{:011x}", fnv1a(attachment.to_string().as_bytes()) & 0xfff_ffff_ffff))
    }

    /// A name that an engine showed.
    pub fn observed(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// How a port meets its pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Connection {
    /// The pod's program listens on a vhost-user socket and the engine connects to it.
    VhostUser {
        /// The socket where the engine sees it.
        socket: SocketPath,
    },
}

/// What can be changed on a port while packets flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSettings {
    /// Largest payload, in bytes.
    pub mtu: Mtu,
    /// The VLAN that it is in; none means untagged.
    pub vlan: Option<VlanTag>,
}

/// A port that an attachment has, or should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedPort {
    /// Its name in the engine.
    pub name: PortName,
    /// The bridge that it is on.
    pub bridge: BridgeName,
    /// How it meets its pod.
    pub connection: Connection,
    /// Queue pairs that the pod's program is told to use.
    pub queues: Queues,
    /// What can be changed in place.
    pub settings: PortSettings,
}

/// Our mark on a port: without it we neither change nor delete.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortMark {
    /// The network of the attachment.
    pub network: NetworkName,
    /// The attachment, as [`AttachmentId`] prints it.
    pub attachment: String,
}
