//! The operations on uplinks.

use crate::model::port::PortName;
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
}

impl UplinkOp {
    /// The uplink.
    pub const fn uplink(&self) -> &UplinkName {
        match self {
            Self::CreateBridge { uplink, .. }
            | Self::RestoreBridge { uplink, .. }
            | Self::RemoveBridge { uplink, .. }
            | Self::JoinNic { uplink, .. }
            | Self::SetVlans { uplink, .. } => uplink,
            Self::Connect { pair } => &pair.uplink,
        }
    }

    /// The network, if it is for one alone.
    pub const fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Connect { pair } => Some(&pair.network),
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
            Self::Connect { pair: PatchPair { network, uplink, vlan: Some(tag), .. } } => {
                write!(formatter, "connect network {network} to uplink {uplink} in VLAN {tag}")
            }
            Self::Connect { pair: PatchPair { network, uplink, vlan: None, .. } } => {
                write!(formatter, "connect network {network} to uplink {uplink} without a VLAN")
            }
        }
    }
}
