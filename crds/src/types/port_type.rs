//! How the interface of a pod is connected to the engine, and the settings of each type of port.

use serde::{Deserialize, Serialize};

/// How a pod's interface is connected to the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum PortType {
    /// A vhost-user socket; who listens on it is [`VhostUser::engine_role`].
    #[default]
    VhostUser,
    /// A memif socket that VPP listens on and the pod's program connects to.
    Memif,
    /// A device of the pod's kernel: one end of a veth pair, whose other end the engine has.
    Veth,
    /// A tap of VPP in the pod's network namespace.
    Tap,
}

impl PortType {
    pub const ALL: [Self; 4] = [Self::VhostUser, Self::Memif, Self::Veth, Self::Tap];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VhostUser => "VhostUser",
            Self::Memif => "Memif",
            Self::Veth => "Veth",
            Self::Tap => "Tap",
        }
    }
}

/// Which end of a socket listens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum SocketRole {
    /// This end connects, and connects again when the other end comes back.
    #[default]
    Client,
    /// This end creates the socket and listens.
    Server,
}

/// Ports of the type vhost-user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct VhostUser {
    /// Client (the default): the pod's program listens and the engine connects. Server: the other
    /// way round; when Open vSwitch or VPP restarts, the program has to connect again.
    pub engine_role: SocketRole,
}

/// By which way Open vSwitch reads and writes the device of a veth port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum VethDatapath {
    /// By packet sockets, in the main thread of the switch.
    #[default]
    Kernel,
    /// By AF_XDP, in the packet threads of the switch.
    #[serde(rename = "AFXDP")]
    AfXdp,
}

impl VethDatapath {
    pub const ALL: [Self; 2] = [Self::Kernel, Self::AfXdp];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "Kernel",
            Self::AfXdp => "AFXDP",
        }
    }
}

/// The largest MTU of a device whose frames the kernel gives to a program of AF_XDP: with the
/// headers they must fit into one page of 4096 bytes, beside 256 bytes in front and 320 behind.
pub const AF_XDP_MTU_MAX: u16 = 3498;

/// Whether pods leave checksums and the splitting of packets to the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum ChecksumOffload {
    /// Where the engine takes such packets.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Ports of the type veth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Veth {
    /// Kernel (the default): the main thread of Open vSwitch moves the frames. AFXDP: its packet
    /// threads do, which is several times as fast and takes a core where there were none; the MTU
    /// is 3498 at most, and what a pod receives is not limited: a pod with such a limit has Kernel.
    /// On a node whose switch has no AF_XDP ports are as with Kernel, and the network says so. A
    /// change applies to pods that attach afterwards.
    pub datapath: VethDatapath,
    /// Auto (the default): where Open vSwitch has userspace-tso-enable=true, and all ports of the
    /// bridge are of the kernel, pods leave checksums and the splitting of packets to it. Off:
    /// never, which pods need that have tunnels of their own over the interface.
    pub checksum_offload: ChecksumOffload,
}

impl Veth {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How VPP learns that a pod has sent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Polling {
    /// VPP looks at the queues again and again, which takes a whole core.
    Polling,
    /// The pod's program interrupts VPP.
    Interrupt,
    /// VPP polls while there is much to read, and is interrupted otherwise.
    Adaptive,
}

impl Polling {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Polling => "Polling",
            Self::Interrupt => "Interrupt",
            Self::Adaptive => "Adaptive",
        }
    }
}

/// Where a pod finds the socket of its memif.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MemifSocketKind {
    /// A file in the pod's `usnet` volume.
    #[default]
    Volume,
    /// An abstract socket in the pod's network namespace, named like the interface. It needs no
    /// volume.
    Abstract,
}

/// Whether a memif asks its peer for a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MemifSecretKind {
    /// No secret: the socket is the pod's own, and most programs bring none.
    #[default]
    None,
    /// A new one for each attachment, in the description that the pod finds in its volume.
    Generated,
}

/// What a memif carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MemifMode {
    /// Ethernet frames, which the network's bridge forwards.
    #[default]
    Ethernet,
    /// IP packets, which the network's gateway routes.
    #[serde(rename = "IP")]
    Ip,
}

impl MemifMode {
    pub fn is_ethernet(&self) -> bool {
        *self == Self::Ethernet
    }
}

/// Ports of the type memif.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Memif {
    /// Where the socket is. Volume (the default): a file in the pod's `usnet` volume. Abstract: in
    /// the pod's network namespace, named like the interface, which needs no volume.
    pub socket: MemifSocketKind,
    /// Whether the pod's program has to know a secret. None (the default): the socket is the pod's
    /// own, and most programs bring none. Generated: a new one for each attachment, in the
    /// description that the pod finds in its volume; only with the socket Volume.
    pub secret: MemifSecretKind,
    /// Ethernet (the default): frames, forwarded by the network's bridge. IP: packets, routed by
    /// the network's gateway, without MAC addresses and ARP.
    #[serde(skip_serializing_if = "MemifMode::is_ethernet")]
    pub mode: MemifMode,
}
