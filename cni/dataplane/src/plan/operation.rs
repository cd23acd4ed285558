//! The changes that a plan is made of.

use crate::attachment::AttachmentId;
use crate::port::{AttachedPort, PortBackend, PortName, PortOwner, PortSettings};
use std::fmt;
use usnet_crds::{Bridge, NetworkName};

/// One change of an engine. Removals name what they expect to find, so that a driver can refuse when it finds something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Takes one of our ports away.
    RemovePort {
        /// The bridge that it is on, ours or not; none when it is on none.
        bridge: Option<String>,
        /// The port.
        port: PortName,
        /// The mark that it carries.
        owner: PortOwner,
        /// How it meets its pod, where that is known. A port that was not marked yet is found by its socket, if that is the engine's own.
        backend: Option<PortBackend>,
    },
    /// Takes away one of our bridges, which has no ports.
    RemoveBridge {
        /// The bridge.
        bridge: String,
        /// The network that it is marked with.
        network: NetworkName,
    },
    /// Makes a bridge with our mark.
    CreateBridge {
        /// The network to mark it with.
        network: NetworkName,
        /// The bridge.
        bridge: Bridge,
    },
    /// Sets what can be changed on one of our bridges while packets flow, and its kind in case somebody changed that.
    UpdateBridge {
        /// The network that it is marked with.
        network: NetworkName,
        /// The bridge as it should be.
        bridge: Bridge,
    },
    /// Makes a port with our mark on one of our bridges.
    CreatePort {
        /// The network that the bridge is marked with.
        network: NetworkName,
        /// The attachment to mark it with.
        attachment: AttachmentId,
        /// The port.
        port: AttachedPort,
    },
    /// Changes what can be changed on a port while packets flow.
    UpdatePort {
        /// The port.
        port: PortName,
        /// The mark that it carries.
        owner: PortOwner,
        /// The settings that it should have.
        settings: PortSettings,
    },
}

impl Op {
    /// What it is about, for an error.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::RemoveBridge { bridge, .. } => format!("bridge {bridge}"),
            Self::CreateBridge { bridge, .. } | Self::UpdateBridge { bridge, .. } => format!("bridge {}", bridge.name),
            Self::RemovePort { port, .. } | Self::UpdatePort { port, .. } => format!("port {port}"),
            Self::CreatePort { port, .. } => format!("port {}", port.name),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemovePort { bridge: Some(bridge), port, owner, .. } => {
                write!(formatter, "remove port {port} of {} from bridge {bridge}", owner.attachment)
            }
            Self::RemovePort { bridge: None, port, owner, .. } => {
                write!(formatter, "remove port {port} of {}, which is on no bridge", owner.attachment)
            }
            Self::RemoveBridge { bridge, network } => write!(formatter, "remove bridge {bridge} of network {network}"),
            Self::CreateBridge { network, bridge } => {
                write!(formatter, "create bridge {} for network {network}", bridge.name)
            }
            Self::UpdateBridge { network, bridge } => {
                let Bridge { name, mtu, mac_learning, mac_age_seconds, .. } = bridge;
                write!(
                    formatter,
                    "set MTU {mtu}, MAC learning {mac_learning:?} for {mac_age_seconds} s and the kind of bridge {name} of network {network}"
                )
            }
            Self::CreatePort { attachment, port, .. } => {
                write!(formatter, "create port {} of {attachment} on bridge {}", port.name, port.bridge)
            }
            Self::UpdatePort { port, owner, settings } => {
                write!(formatter, "set MTU {}, ", settings.mtu)?;
                match &settings.vlan {
                    Some(vlan) => write!(formatter, "{vlan}")?,
                    None => write!(formatter, "no VLAN")?,
                }
                write!(formatter, " and {} on port {port} of {}", settings.rate_limit, owner.attachment)
            }
        }
    }
}
