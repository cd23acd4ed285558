//! Names of ports, and of the kernel devices that are ports.

use crate::model::attachment::AttachmentId;
use crate::model::owner::{NetworkDeviceRole, NetworkTunnel, Owner};
use serde::{Deserialize, Serialize};
use std::fmt;
use usnet_crds::names::fnv1a;
use usnet_crds::{NetworkName, PciAddress, UplinkName};

/// `vhu` and 11 characters is what OpenStack names such ports, and fits a network device's name.
const PREFIX: &str = "vhu";
const DIGITS: usize = 11;
/// Prefixes of the devices of a network: the VXLAN device, and the two ends of the pair behind it.
const VXLAN_PREFIX: &str = "usv-";
const VXLAN_END_PREFIX: &str = "usf-";
const ENGINE_END_PREFIX: &str = "use-";
/// Prefixes of the pair by which the node is in a network: the node's end, and that of the engine.
pub const NODE_END_PREFIX: &str = "usa-";
const ACCESS_END_PREFIX: &str = "usb-";
/// Prefixes of the ports that connect a network to an uplink: on its own bridge, and on that of the
/// uplink.
const NETWORK_END_PREFIX: &str = "usn-";
const UPLINK_END_PREFIX: &str = "usu-";
const TUNNEL_PREFIX: &str = "ust-";
/// Prefix of NICs of uplinks, in an engine that does not name them as the kernel does.
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

    /// The name of the port of a network's own device.
    pub fn of_device(network: &NetworkName, role: NetworkDeviceRole) -> Self {
        Self(DeviceName::of_role(network, role).0)
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
            Owner::Network(device) => Self::of_device(&device.network, device.role),
            Owner::Patch(patch) => Self::of_network_end(&patch.network),
            Owner::Tunnel(tunnel) => Self::of_tunnel(tunnel),
            Owner::Nic(nic) => Self(generated(NIC_PREFIX, nic.uplink.as_str())),
        }
    }

    /// The interface of a NIC that an engine drives itself, in the bond of an uplink.
    pub fn of_bond_member(uplink: &UplinkName, address: PciAddress) -> Self {
        Self(generated(NIC_PREFIX, &format!("{uplink} {address}")))
    }

    /// A name that an engine showed.
    pub fn observed(name: &str) -> Self {
        Self(name.to_owned())
    }

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

    /// The device by which an engine has a network's own device of this role.
    pub fn of_role(network: &NetworkName, role: NetworkDeviceRole) -> Self {
        match role {
            NetworkDeviceRole::Overlay => Self::of_network(network),
            NetworkDeviceRole::NodeAccess => Self(generated(ACCESS_END_PREFIX, network.as_str())),
        }
    }

    /// The device that has the node's addresses in a network.
    pub fn of_node_end(network: &NetworkName) -> Self {
        Self(generated(NODE_END_PREFIX, network.as_str()))
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
    pub fn has_generated_name(&self) -> bool {
        let digits = self.0.strip_prefix(PREFIX).unwrap_or_default();
        digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
