//! One end in the engine.

use crate::model::attachment::AttachmentId;
use crate::model::memif::{MemifSecret, MemifSocket};
use crate::model::owner::{NetworkDevice, NetworkTunnel, Owner};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use usnet_crds::names::fnv1a;
use usnet_crds::{
    BridgeName, MemifMode, Mtu, NetworkName, NodeNetwork, Ownership, PortType, Queues, RateLimit, RingSize, SocketRole,
    Vlan, VlanTag,
};

/// Longest path of a unix socket, in bytes (`sun_path` without its NUL). Engines accept longer ones
/// and never connect.
pub const SOCKET_PATH_MAX: usize = 107;

/// A socket path that no engine could use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "socket path {} has {} bytes, and a unix socket takes at most {SOCKET_PATH_MAX}: use a shorter run directory",
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

/// `vhu` and 11 characters is what OpenStack names such ports, and fits a network device's name.
const PREFIX: &str = "vhu";
const DIGITS: usize = 11;
/// Of the devices of a network: the VXLAN device, and the two ends of the pair behind it.
const VXLAN_PREFIX: &str = "usv-";
const VXLAN_END_PREFIX: &str = "usf-";
const ENGINE_END_PREFIX: &str = "use-";
/// Of the ports that connect a network to an uplink: on its own bridge, and on that of the uplink.
const NETWORK_END_PREFIX: &str = "usn-";
const UPLINK_END_PREFIX: &str = "usu-";
/// Of tunnels to peers.
const TUNNEL_PREFIX: &str = "ust-";
/// Of NICs of uplinks, in an engine that does not name them as the kernel does.
const NIC_PREFIX: &str = "usp-";

/// The name of a port in the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortName(String);

impl PortName {
    /// The name of an attachment's port. It is deterministic, so that a repeated ADD finds the port
    /// of the first one.
    pub fn of(attachment: &AttachmentId) -> Self {
        Self(format!("{PREFIX}{:0DIGITS$x}", fnv1a(attachment.to_string().as_bytes()) & 0xfff_ffff_ffff))
    }

    /// The name of the port that joins a network with other nodes: that of its device.
    pub fn of_network(network: &NetworkName) -> Self {
        Self(DeviceName::of_network(network).0)
    }

    /// The name of the port that connects a network to an uplink, on the network's bridge.
    pub fn of_network_end(network: &NetworkName) -> Self {
        Self(generated(NETWORK_END_PREFIX, network.as_str()))
    }

    /// The name of the patch port that connects a network, on the bridge of its uplink.
    pub fn of_uplink_end(network: &NetworkName) -> Self {
        Self(generated(UPLINK_END_PREFIX, network.as_str()))
    }

    /// The name of the port that is the tunnel of a network to one peer.
    pub fn of_tunnel(NetworkTunnel { network, peer }: &NetworkTunnel) -> Self {
        Self(generated(TUNNEL_PREFIX, &format!("{network} {peer}")))
    }

    /// The name of the port that has this owner, in an engine that names ports by their owners.
    pub fn of_owner(owner: &Owner) -> Self {
        match owner {
            Owner::Attachment(attachment) => Self::of(attachment),
            Owner::Network(device) => Self::of_network(&device.network),
            Owner::Patch(patch) => Self::of_network_end(&patch.network),
            Owner::Tunnel(tunnel) => Self::of_tunnel(tunnel),
            Owner::Nic(nic) => Self(generated(NIC_PREFIX, nic.uplink.as_str())),
        }
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

/// A prefix and ten digits, which is short enough for a network device.
fn generated(prefix: &str, of: &str) -> String {
    format!("{prefix}{:010x}", fnv1a(of.as_bytes()) & 0xff_ffff_ffff)
}

impl From<&DeviceName> for PortName {
    /// Open vSwitch names the port of a device as the kernel names the device.
    fn from(device: &DeviceName) -> Self {
        Self(device.0.clone())
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The host end of a veth pair. Its name is that of the port, which is short enough for a network
/// device: Open vSwitch identifies a device by the name of its port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceName(String);

impl DeviceName {
    /// The device of an attachment.
    pub fn of(attachment: &AttachmentId) -> Self {
        Self(PortName::of(attachment).0)
    }

    /// The device by which an engine joins a network with other nodes: `use-` and ten digits.
    pub fn of_network(network: &NetworkName) -> Self {
        Self(generated(ENGINE_END_PREFIX, network.as_str()))
    }

    /// The VXLAN device of a network.
    pub fn of_vxlan(network: &NetworkName) -> Self {
        Self(generated(VXLAN_PREFIX, network.as_str()))
    }

    /// The device that exchanges frames with the VXLAN device of a network.
    pub fn of_vxlan_end(network: &NetworkName) -> Self {
        Self(generated(VXLAN_END_PREFIX, network.as_str()))
    }

    /// A name that an engine or the kernel showed.
    pub fn observed(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// Whether [`DeviceName::of`] gives such names.
    pub(crate) fn has_generated_name(&self) -> bool {
        let digits = self.0.strip_prefix(PREFIX).unwrap_or_default();
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The backend of a port: its endpoint towards the pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum PortBackend {
    /// A vhost-user socket.
    #[serde(rename_all = "camelCase")]
    VhostUser {
        /// The socket as seen by the engine.
        socket: SocketPath,
        /// Whether the engine connects to it or listens on it.
        #[serde(default)]
        engine_role: SocketRole,
    },
    /// A memif socket, which the engine listens on.
    Memif {
        /// The socket as seen by the engine.
        socket: MemifSocket,
        /// What it carries.
        #[serde(default, skip_serializing_if = "MemifMode::is_ethernet")]
        mode: MemifMode,
    },
    /// A veth pair, whose other end is the interface in the pod's network namespace. As observed in
    /// an engine also any other device of the kernel.
    Veth {
        /// The engine's end.
        device: DeviceName,
    },
}

impl PortBackend {
    /// A memif that carries Ethernet frames.
    pub const fn memif(socket: MemifSocket) -> Self {
        Self::Memif { socket, mode: MemifMode::Ethernet }
    }

    /// The type in the API.
    pub const fn port_type(&self) -> PortType {
        match self {
            Self::VhostUser { .. } => PortType::VhostUser,
            Self::Memif { .. } => PortType::Memif,
            Self::Veth { .. } => PortType::Veth,
        }
    }

    /// Whether the engine routes packets to it, instead of forwarding frames on a bridge.
    pub const fn is_routed(&self) -> bool {
        matches!(self, Self::Memif { mode: MemifMode::Ip, .. })
    }

    /// The name of the endpoint: that of the socket as reported by VPP, or of the device.
    pub(crate) fn endpoint_name(&self) -> String {
        match self {
            Self::VhostUser { socket, .. } => socket.as_path().to_string_lossy().into_owned(),
            Self::Memif { socket, .. } => socket.to_string(),
            Self::Veth { device } => device.to_string(),
        }
    }

    /// The engine's end of a veth pair.
    pub fn device(&self) -> Option<&DeviceName> {
        match self {
            Self::Veth { device } => Some(device),
            Self::VhostUser { .. } | Self::Memif { .. } => None,
        }
    }

    /// The socket's file; none when it has none.
    pub fn socket_file(&self) -> Option<&Path> {
        match self {
            Self::VhostUser { socket, .. } => Some(socket.as_path()),
            Self::Memif { socket, .. } => socket.path(),
            Self::Veth { .. } => None,
        }
    }
}

impl fmt::Display for PortBackend {
    /// For users: the endpoint, its type and the role of the engine.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoint = self.endpoint_name();
        match self {
            Self::VhostUser { engine_role: SocketRole::Client, .. } => {
                write!(formatter, "{endpoint} (vhost-user, the engine connects)")
            }
            Self::VhostUser { engine_role: SocketRole::Server, .. } => {
                write!(formatter, "{endpoint} (vhost-user, the engine listens)")
            }
            Self::Memif { mode: MemifMode::Ethernet, .. } => write!(formatter, "{endpoint} (memif)"),
            Self::Memif { mode: MemifMode::Ip, .. } => write!(formatter, "{endpoint} (memif in IP mode)"),
            Self::Veth { .. } => write!(formatter, "device {endpoint} (veth)"),
        }
    }
}

/// What can be changed on a port while packets flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortSettings {
    /// Largest payload, in bytes.
    pub mtu: Mtu,
    /// The VLANs that it is in; none means untagged.
    #[serde(default, deserialize_with = "vlan_or_tag")]
    pub vlan: Option<Vlan>,
    /// How much it may send and receive.
    #[serde(default)]
    pub rate_limit: RateLimit,
    /// The addresses of the pod that the engine routes to this port; none if it is on a bridge.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub routed: BTreeSet<IpAddr>,
}

/// Records of earlier releases have only the number of an access port's VLAN.
fn vlan_or_tag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vlan>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum VlanOrTag {
        Tag(VlanTag),
        Vlan(Vlan),
    }
    let read = Option::<VlanOrTag>::deserialize(deserializer)?;
    Ok(read.map(|read| match read {
        VlanOrTag::Tag(tag) => Vlan::Access { tag },
        VlanOrTag::Vlan(vlan) => vlan,
    }))
}

/// The port of a network's own device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPort {
    /// Its name in the engine, which is that of the device.
    pub name: PortName,
    /// The bridge that it is on.
    pub bridge: BridgeName,
    /// Whether usnet owns that bridge or adopted it.
    pub ownership: Ownership,
    /// The device.
    pub device: NetworkDevice,
    /// The MTU of the network, which the device has.
    pub mtu: Mtu,
}

impl NetworkPort {
    /// The port of a network whose device has this index.
    pub fn new(network: &NodeNetwork, index: u32) -> Self {
        Self {
            name: PortName::of_network(&network.name),
            bridge: network.bridge.name.clone(),
            ownership: network.bridge.ownership,
            device: NetworkDevice { network: network.name.clone(), index },
            mtu: network.bridge.mtu,
        }
    }

    /// Its endpoint, as an engine shows it.
    pub fn backend(&self) -> PortBackend {
        PortBackend::Veth { device: DeviceName(self.name.0.clone()) }
    }
}

/// A port that an attachment has, or should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachedPort {
    /// Its name in the engine.
    pub name: PortName,
    /// The bridge that it is on.
    pub bridge: BridgeName,
    /// Whether usnet owns that bridge or adopted it.
    #[serde(default)]
    pub ownership: Ownership,
    /// The endpoint towards the pod.
    #[serde(rename = "connection")]
    pub backend: PortBackend,
    /// Queue pairs that are configured for the application in the pod.
    pub queues: Queues,
    /// Descriptors of each ring that are configured for the application in the pod.
    #[serde(default)]
    pub ring_size: RingSize,
    /// The secret that the memif's peer must present; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<MemifSecret>,
    /// What can be changed in place.
    pub settings: PortSettings,
}

/// Whether a port must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortPolicy {
    /// Create the port if it is missing.
    Ensure,
    /// Keep the port if it exists, but do not create it.
    Keep,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_vlan_of_an_earlier_release_is_that_of_an_access_port() {
        let read = |settings| serde_json::from_value::<PortSettings>(settings).unwrap();
        let access = Vlan::Access { tag: VlanTag::try_from(7).unwrap() };
        assert_eq!(read(json!({"mtu": 1500, "vlan": 7})).vlan, Some(access.clone()));
        assert_eq!(read(json!({"mtu": 1500, "vlan": null})).vlan, None);
        let settings = PortSettings { vlan: Some(access), ..read(json!({"mtu": 9000, "vlan": 7})) };
        assert_eq!(read(serde_json::to_value(&settings).unwrap()), settings);
    }
}
