//! The operations on uplinks.

use crate::model::port::PortName;
use crate::model::underlay::{Tunnel, TunnelEnds, UplinkAddress};
use crate::model::uplink::{KernelNic, PatchPair, UplinkBridge, UplinkVlans};
use std::fmt;
use usnet_crds::{BridgeName, NetworkName, UplinkName};

/// One operation on an uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UplinkOp {
    /// Creates the bridge of an uplink with an ownership tag.
    CreateBridge {
        /// Its owner.
        uplink: UplinkName,
        /// The bridge.
        bridge: BridgeName,
    },
    /// Restores the datapath of the bridge of an uplink.
    RestoreBridge {
        /// The expected owner.
        uplink: UplinkName,
        /// The bridge.
        bridge: BridgeName,
    },
    /// Deletes the bridge of an uplink, which has no ports.
    RemoveBridge {
        /// The expected owner.
        uplink: UplinkName,
        /// The bridge.
        bridge: String,
    },
    /// Creates the port of an uplink's NIC, with an ownership tag.
    JoinNic {
        /// Its owner.
        uplink: UplinkName,
        /// The NIC.
        nic: KernelNic,
        /// The bridge of the uplink, in an engine that has one.
        bridge: Option<UplinkBridge>,
    },
    /// Changes what the port of an uplink's NIC lets through.
    SetVlans {
        /// The uplink.
        uplink: UplinkName,
        /// The index of the NIC when it became a port: part of the expected owner.
        index: u32,
        /// The port.
        port: PortName,
        /// What it lets through.
        vlans: UplinkVlans,
    },
    /// Creates what connects a network, with ownership tags.
    Connect {
        /// It.
        pair: PatchPair,
    },
    /// Gives the engine its address on the NIC, or takes it away, with its VLAN.
    SetAddress {
        /// The uplink.
        uplink: UplinkName,
        /// The bridge of the uplink, in an engine that has one.
        bridge: Option<BridgeName>,
        /// The address; none takes it away.
        address: Option<UplinkAddress>,
    },
    /// Creates the tunnel of a network to one peer, with an ownership tag.
    CreateTunnel {
        /// It.
        tunnel: Tunnel,
    },
}

impl UplinkOp {
    /// The uplink.
    pub const fn uplink(&self) -> &UplinkName {
        match self {
            Self::CreateBridge { uplink, .. }
            | Self::RestoreBridge { uplink, .. }
            | Self::RemoveBridge { uplink, .. }
            | Self::JoinNic { uplink, .. }
            | Self::SetVlans { uplink, .. }
            | Self::SetAddress { uplink, .. } => uplink,
            Self::Connect { pair } => &pair.uplink,
            Self::CreateTunnel { tunnel } => &tunnel.uplink,
        }
    }

    /// The network, if it is for one alone.
    pub const fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Connect { pair } => Some(&pair.network),
            Self::CreateTunnel { tunnel } => Some(&tunnel.network),
            _ => None,
        }
    }

    /// What it is about, for an error.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::CreateBridge { bridge, .. } | Self::RestoreBridge { bridge, .. } => format!("bridge {bridge}"),
            Self::RemoveBridge { bridge, .. } => format!("bridge {bridge}"),
            Self::JoinNic { nic, .. } => format!("port {}", nic.device),
            Self::SetVlans { port, .. } => format!("port {port}"),
            Self::SetAddress { uplink, .. } => format!("the address on uplink {uplink}"),
            Self::CreateTunnel { tunnel } => format!("tunnel {}", tunnel.name),
            Self::Connect { pair: PatchPair { network_end, uplink_end: Some(end), .. } } => {
                format!("patch ports {network_end} and {}", end.port)
            }
            Self::Connect { pair: PatchPair { network, uplink, uplink_end: None, .. } } => {
                format!("the connection of network {network} to uplink {uplink}")
            }
        }
    }
}

impl fmt::Display for UplinkOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateBridge { uplink, bridge } => write!(formatter, "create bridge {bridge} of uplink {uplink}"),
            Self::RestoreBridge { uplink, bridge } => {
                write!(formatter, "restore the kind of bridge {bridge} of uplink {uplink}")
            }
            Self::RemoveBridge { uplink, bridge } => write!(formatter, "remove bridge {bridge} of uplink {uplink}"),
            Self::JoinNic { uplink, nic, bridge: Some(UplinkBridge { name, vlans }) } => {
                write!(formatter, "join NIC {} of uplink {uplink} to bridge {name} for {vlans}", nic.device)
            }
            Self::JoinNic { uplink, nic, bridge: None } => {
                write!(formatter, "join NIC {} of uplink {uplink}", nic.device)
            }
            Self::SetVlans { uplink, port, vlans, .. } => {
                write!(formatter, "set {vlans} on NIC {port} of uplink {uplink}")
            }
            Self::SetAddress { uplink, address: Some(UplinkAddress { address, vlan: Some(tag), .. }), .. } => {
                write!(formatter, "set address {address} on uplink {uplink} in VLAN {tag}")
            }
            Self::SetAddress { uplink, address: Some(UplinkAddress { address, vlan: None, .. }), .. } => {
                write!(formatter, "set address {address} on uplink {uplink} without a VLAN")
            }
            Self::SetAddress { uplink, address: None, .. } => {
                write!(formatter, "remove the address on uplink {uplink}")
            }
            Self::CreateTunnel { tunnel: Tunnel { network, uplink, ends, .. } } => {
                let TunnelEnds { vni, port, remote, .. } = ends;
                write!(
                    formatter,
                    "create the tunnel of network {network} to {remote} over uplink {uplink}, VNI {vni} at UDP port {port}"
                )
            }
            Self::Connect { pair: PatchPair { network, uplink, vlan: Some(tag), .. } } => {
                write!(formatter, "connect network {network} to uplink {uplink} in VLAN {tag}")
            }
            Self::Connect { pair: PatchPair { network, uplink, vlan: None, .. } } => {
                write!(formatter, "connect network {network} to uplink {uplink} without a VLAN")
            }
        }
    }
}
