//! What a port is in the engine.

use super::name::{DeviceName, PortName};
use super::pod_backend::PodBackend;
use super::socket_path::SocketPath;
use super::tap_device::TapDevice;
use crate::model::memif::MemifSocket;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use usnet_crds::{BondMode, LacpRate, MemifMode, PciAddress, PortType, Queues, SocketRole, UdpPort, Vni, XdpMode};

/// What a port is in the engine: everything that can be a port of a bridge.
///
/// Records on disk contain the backends of pods; `Veth` is their name for a kernel device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum PortBackend {
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
        /// Whether it carries frames or packets.
        #[serde(default, skip_serializing_if = "MemifMode::is_ethernet")]
        mode: MemifMode,
    },
    /// A kernel device: the engine's end of a pod's veth pair, the device of an overlay, or a NIC.
    /// An engine does not distinguish them; their owners do.
    #[serde(rename = "Veth")]
    Device { device: DeviceName },
    /// A kernel device whose frames the engine has by AF_XDP, before the kernel: the engine's end
    /// of a pod's veth pair, or a NIC.
    #[serde(rename = "VethByAfXdp")]
    AfXdp { device: DeviceName, mode: XdpMode },
    /// A NIC that the engine drives itself by DPDK.
    #[serde(skip)]
    Dpdk { address: PciAddress },
    /// Several NICs in one port.
    #[serde(skip)]
    Bond { bond: Bond },
    /// A tap, whose device in the network namespace of the pod the engine creates.
    Tap { device: TapDevice },
    /// A patch port, which is connected to another port of the same engine.
    #[serde(skip)]
    Patch { peer: PortName },
    /// A part of the interface of a NIC: the frames of one VLAN, or those without a tag. The port's
    /// tagging says which.
    #[serde(skip)]
    SubInterface,
    /// A VXLAN tunnel of the engine to one peer. Frames from one tunnel are never sent to another,
    /// because the peer has sent them there itself.
    #[serde(skip)]
    Vxlan { ends: TunnelEnds },
}

/// Both ends of a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelEnds {
    /// The id of the VXLAN network.
    pub vni: Vni,
    /// The UDP port of both ends.
    pub port: UdpPort,
    /// The address of this node.
    pub local: IpAddr,
    /// The address of the peer.
    pub remote: IpAddr,
}

/// A bond of NICs, which the engine has as one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bond {
    pub mode: BondMode,
    /// Of no interest in other modes than LACP.
    pub lacp_rate: LacpRate,
    /// By their names.
    members: Vec<BondMember>,
}

/// A NIC of a bond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BondMember {
    /// The name of its interface in the engine.
    pub name: PortName,
    pub backend: PortBackend,
    /// Queues on which it receives; none leaves that alone.
    pub receive_queues: Option<Queues>,
}

impl Bond {
    pub fn new(mode: BondMode, lacp_rate: LacpRate, mut members: Vec<BondMember>) -> Self {
        members.sort_by(|one, other| one.name.cmp(&other.name));
        let lacp_rate = if mode == BondMode::Lacp { lacp_rate } else { LacpRate::default() };
        Self { mode, lacp_rate, members }
    }

    /// Sorted by their names.
    pub fn members(&self) -> &[BondMember] {
        &self.members
    }
}

impl PortBackend {
    /// A memif that carries Ethernet frames.
    pub const fn memif(socket: MemifSocket) -> Self {
        Self::Memif { socket, mode: MemifMode::Ethernet }
    }

    /// The backend as that of a pod's port; `None` for one that no pod's port has.
    pub const fn of_pod(&self) -> Option<PodBackend<'_>> {
        match self {
            Self::VhostUser { socket, engine_role } => {
                Some(PodBackend::VhostUser { socket, engine_role: *engine_role })
            }
            Self::Memif { socket, mode } => Some(PodBackend::Memif { socket, mode: *mode }),
            Self::Device { device } | Self::AfXdp { device, .. } => Some(PodBackend::Veth { device }),
            Self::Tap { device } => Some(PodBackend::Tap { device }),
            Self::Dpdk { .. } | Self::Bond { .. } | Self::Patch { .. } | Self::SubInterface | Self::Vxlan { .. } => {
                None
            }
        }
    }

    /// The type of a pod's port in the API; `None` for a backend that no pod's port has.
    pub fn port_type(&self) -> Option<PortType> {
        self.of_pod().map(PodBackend::port_type)
    }

    /// Whether the engine routes packets to it, instead of forwarding frames on a bridge.
    pub const fn is_routed(&self) -> bool {
        matches!(self, Self::Memif { mode: MemifMode::Ip, .. })
    }

    /// The name of the endpoint: of the socket as reported by VPP, of the device, or of the peer;
    /// the address of a PCI device; those of all members of a bond.
    pub fn endpoint_name(&self) -> String {
        match self {
            Self::VhostUser { socket, .. } => socket.as_path().to_string_lossy().into_owned(),
            Self::Memif { socket, .. } => socket.to_string(),
            Self::Device { device } | Self::AfXdp { device, .. } => device.to_string(),
            Self::Dpdk { address } => address.to_string(),
            Self::Bond { bond } => {
                let names: Vec<_> = bond.members().iter().map(|member| member.backend.endpoint_name()).collect();
                names.join(", ")
            }
            Self::Tap { device } => device.to_string(),
            Self::Patch { peer } => peer.to_string(),
            Self::SubInterface => String::new(),
            Self::Vxlan { ends } => ends.remote.to_string(),
        }
    }

    /// The kernel device, if it is one.
    pub const fn device(&self) -> Option<&DeviceName> {
        match self {
            Self::Device { device } | Self::AfXdp { device, .. } => Some(device),
            _ => None,
        }
    }

    pub const fn is_bond(&self) -> bool {
        matches!(self, Self::Bond { .. })
    }

    /// The names of its interfaces in the engine: that of the port, or those of a bond's members.
    pub fn interface_names<'a>(&'a self, port: &'a PortName) -> Vec<&'a str> {
        match self {
            Self::Bond { bond } => bond.members().iter().map(|member| member.name.as_str()).collect(),
            _ => vec![port.as_str()],
        }
    }

    /// Whether the pod's interface is one of its kernel, which has the addresses.
    pub const fn is_of_kernel(&self) -> bool {
        matches!(self, Self::Device { .. } | Self::AfXdp { .. } | Self::Tap { .. })
    }

    /// The file of the socket; `None` without a socket, or for one without a file.
    pub fn socket_file(&self) -> Option<&Path> {
        self.of_pod().and_then(PodBackend::socket_file)
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
            Self::Device { .. } => write!(formatter, "device {endpoint} (veth)"),
            Self::AfXdp { .. } => write!(formatter, "device {endpoint} (AF_XDP)"),
            Self::Dpdk { .. } => write!(formatter, "PCI device {endpoint} (DPDK)"),
            Self::Bond { .. } => write!(formatter, "a bond of {endpoint}"),
            Self::Tap { .. } => write!(formatter, "device {endpoint} (tap)"),
            Self::Patch { .. } => write!(formatter, "a patch port to {endpoint}"),
            Self::SubInterface => formatter.write_str("a sub-interface of the NIC"),
            Self::Vxlan { .. } => write!(formatter, "a VXLAN tunnel to {endpoint}"),
        }
    }
}
