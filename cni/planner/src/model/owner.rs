//! What ports belong to. An engine stores it in an ownership tag; ports without one are neither
//! changed nor deleted.

use crate::model::attachment::AttachmentId;
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{NetworkName, PciAddress, UplinkName};

/// What a port belongs to. The drivers' `tags` store each variant in a form of its own, and parse
/// it back into the same variant.
///
/// The variants are in the order in which a plan creates their ports: what others depend on comes
/// first, and pods come last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// An uplink: this is its NIC.
    Nic(UplinkNic),
    /// A network that is connected to an uplink: this is a patch port or a sub-interface for it.
    Patch(PatchedNetwork),
    /// A network: it is joined with other nodes, or with this node, by this device.
    Network(NetworkDevice),
    /// A network whose engine encapsulates: this is its tunnel to one peer.
    Tunnel(NetworkTunnel),
    /// An interface of a pod.
    Attachment(AttachmentId),
}

/// A kernel device by which a network is joined with other nodes, or with its own node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkDevice {
    pub network: NetworkName,
    pub role: NetworkDeviceRole,
    /// The index of the device when it became a port. An engine does not notice that a device is
    /// deleted and created again: what it has open then is the deleted one.
    pub index: u32,
}

/// What a network's own device leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkDeviceRole {
    /// Other nodes.
    Overlay,
    /// The node itself, which has an address in the network.
    NodeAccess,
}

/// The NIC of an uplink.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UplinkNic {
    pub uplink: UplinkName,
    /// Which NIC it was when it became a port.
    pub identity: NicIdentity,
}

/// What identifies a NIC while it is a port of an engine. Names of NICs change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NicIdentity {
    /// The index of a kernel device, as that of a [`NetworkDevice`].
    KernelIndex(u32),
    /// The address of a PCI device that the kernel does not drive, such as `0000:3b:00.1`.
    PciAddress(PciAddress),
    /// The NICs of a bond, in the order of the names of its members.
    Bond(Vec<NicIdentity>),
}

impl NicIdentity {
    /// The index of a NIC that the kernel drives.
    pub const fn kernel_index(&self) -> Option<u32> {
        match self {
            Self::KernelIndex(index) => Some(*index),
            Self::PciAddress(_) | Self::Bond(_) => None,
        }
    }

    /// The NIC, or those of the bond.
    pub fn nics(&self) -> &[Self] {
        match self {
            Self::KernelIndex(_) | Self::PciAddress(_) => std::slice::from_ref(self),
            Self::Bond(nics) => nics,
        }
    }
}

/// A network on an uplink.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PatchedNetwork {
    pub network: NetworkName,
    pub uplink: UplinkName,
}

/// The tunnel of a network to one peer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkTunnel {
    pub network: NetworkName,
    /// The address of the peer.
    pub peer: IpAddr,
}

impl Owner {
    /// The attachment, if it is one.
    pub fn attachment(&self) -> Option<&AttachmentId> {
        match self {
            Self::Attachment(attachment) => Some(attachment),
            Self::Network(_) | Self::Nic(_) | Self::Patch(_) | Self::Tunnel(_) => None,
        }
    }

    /// The uplink, if it is one alone.
    pub fn uplink(&self) -> Option<&UplinkName> {
        match self {
            Self::Nic(nic) => Some(&nic.uplink),
            Self::Attachment(_) | Self::Network(_) | Self::Patch(_) | Self::Tunnel(_) => None,
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attachment(attachment) => attachment.fmt(formatter),
            Self::Network(device) => write!(formatter, "network {}", device.network),
            Self::Nic(nic) => write!(formatter, "uplink {}", nic.uplink),
            Self::Patch(patch) => write!(formatter, "network {} on uplink {}", patch.network, patch.uplink),
            Self::Tunnel(tunnel) => write!(formatter, "network {}, to {}", tunnel.network, tunnel.peer),
        }
    }
}

/// The owner of a port and its network, as found in an ownership tag, or as expected there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortOwner {
    /// The network, if the tag or the port's bridge names it.
    pub network: Option<NetworkName>,
    /// What the port belongs to.
    pub owner: Owner,
}

impl PortOwner {
    /// The complete owner of an attachment's port.
    pub fn new(network: &NetworkName, attachment: &AttachmentId) -> Self {
        Self { network: Some(network.clone()), owner: Owner::Attachment(attachment.clone()) }
    }

    /// The complete owner of a network's own port.
    pub fn of_device(device: &NetworkDevice) -> Self {
        Self { network: Some(device.network.clone()), owner: Owner::Network(device.clone()) }
    }

    /// The complete owner of the port of an uplink's NIC.
    pub fn of_nic(nic: &UplinkNic) -> Self {
        Self { network: None, owner: Owner::Nic(nic.clone()) }
    }

    /// The complete owner of the ports that connect a network to an uplink.
    pub fn of_patch(patch: &PatchedNetwork) -> Self {
        Self { network: Some(patch.network.clone()), owner: Owner::Patch(patch.clone()) }
    }

    /// The complete owner of the tunnel of a network to one peer.
    pub fn of_tunnel(tunnel: &NetworkTunnel) -> Self {
        Self { network: Some(tunnel.network.clone()), owner: Owner::Tunnel(tunnel.clone()) }
    }

    /// The attachment that the port belongs to, if it is one.
    pub fn attachment(&self) -> Option<&AttachmentId> {
        self.owner.attachment()
    }

    /// Whether a port with this observed owner belongs to it. Where the network of a pod's port is
    /// unknown, any network fits.
    pub fn covers(&self, observed: &Self) -> bool {
        let is_unknown = observed.network.is_none() && observed.attachment().is_some();
        self.owner == observed.owner && (is_unknown || self.network == observed.network)
    }
}
