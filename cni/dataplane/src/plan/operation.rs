//! The operations of a plan.

use super::uplink_operation::UplinkOp;
use crate::model::attachment::AttachmentId;
use crate::model::bridge_settings::desired_settings;
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{AttachedPort, NetworkPort, PortBackend, PortName, PortSettings};
use crate::plan::routing::RoutingOp;
use std::fmt;
use usnet_crds::{Bridge, NetworkName, UplinkName};

/// One operation on an engine. Deletions name what they expect, so that a driver can reject them if
/// it finds something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Deletes a port that usnet owns.
    RemovePort {
        /// The bridge that it is on, owned by usnet or not; `None` if it is on none.
        bridge: Option<String>,
        /// The port.
        port: PortName,
        /// The expected owner.
        owner: PortOwner,
        /// The endpoint towards the pod, if known. A port that was not tagged yet is identified by
        /// its socket, if usnet owns the socket id.
        backend: Option<PortBackend>,
        /// The index that its interface had in the engine when it was created, if known. It may be
        /// another port's by now: engines use indexes again.
        interface_index: Option<u32>,
    },
    /// Deletes a bridge that usnet owns and that has no ports.
    RemoveBridge {
        /// The bridge.
        bridge: String,
        /// The expected owner.
        network: NetworkName,
    },
    /// Creates a bridge with an ownership tag.
    CreateBridge {
        /// Its owner.
        network: NetworkName,
        /// The bridge.
        bridge: Bridge,
    },
    /// Updates the settings of a bridge that can change in place, and restores its datapath.
    UpdateBridge {
        /// The expected owner.
        network: NetworkName,
        /// The bridge as it should be.
        bridge: Bridge,
    },
    /// Creates a port with an ownership tag.
    CreatePort {
        /// The network that owns the bridge.
        network: NetworkName,
        /// The attachment that owns the port.
        attachment: AttachmentId,
        /// The port.
        port: AttachedPort,
    },
    /// Creates the port of a network's own device, with an ownership tag.
    JoinDevice {
        /// The port.
        port: NetworkPort,
    },
    /// Changes gateways and routing tables.
    Routing(RoutingOp),
    /// Changes what can be changed on a port while packets flow.
    UpdatePort {
        /// The port.
        port: PortName,
        /// The expected owner.
        owner: PortOwner,
        /// The settings that it should have.
        settings: PortSettings,
    },
    /// Creates or changes an uplink, or connects a network to it. The ports of an uplink are
    /// deleted as any other port.
    Uplink(UplinkOp),
}

impl From<RoutingOp> for Op {
    fn from(operation: RoutingOp) -> Self {
        Self::Routing(operation)
    }
}

impl Op {
    /// The network that it is for, as far as it is known.
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::RemovePort { owner, .. } | Self::UpdatePort { owner, .. } => owner.network.as_ref(),
            Self::RemoveBridge { network, .. }
            | Self::CreateBridge { network, .. }
            | Self::UpdateBridge { network, .. }
            | Self::CreatePort { network, .. } => Some(network),
            Self::JoinDevice { port } => Some(&port.device.network),
            Self::Routing(operation) => operation.network(),
            Self::Uplink(operation) => operation.network(),
        }
    }

    /// The uplink that it is for, if it is for no network.
    pub fn uplink(&self) -> Option<&UplinkName> {
        match self {
            Self::RemovePort { owner, .. } => owner.owner.uplink(),
            Self::Uplink(operation) if operation.network().is_none() => Some(operation.uplink()),
            _ => None,
        }
    }

    /// The attachment whose port it changes.
    pub fn attachment(&self) -> Option<&AttachmentId> {
        match self {
            Self::RemovePort { owner, .. } | Self::UpdatePort { owner, .. } => owner.attachment(),
            Self::CreatePort { attachment, .. } => Some(attachment),
            Self::RemoveBridge { .. }
            | Self::CreateBridge { .. }
            | Self::UpdateBridge { .. }
            | Self::JoinDevice { .. }
            | Self::Routing(_)
            | Self::Uplink(_) => None,
        }
    }

    /// What it is about, for an error.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::RemoveBridge { bridge, .. } => format!("bridge {bridge}"),
            Self::CreateBridge { bridge, .. } | Self::UpdateBridge { bridge, .. } => format!("bridge {}", bridge.name),
            Self::RemovePort { port, .. } | Self::UpdatePort { port, .. } => format!("port {port}"),
            Self::CreatePort { port, .. } => format!("port {}", port.name),
            Self::JoinDevice { port } => format!("port {}", port.name),
            Self::Routing(operation) => operation.subject(),
            Self::Uplink(operation) => operation.subject(),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemovePort { bridge: Some(bridge), port, owner, .. } => {
                write!(formatter, "remove port {port} of {} from bridge {bridge}", owner.owner)
            }
            Self::RemovePort { bridge: None, port, owner: PortOwner { owner: Owner::Nic(nic), .. }, .. } => {
                write!(formatter, "remove NIC {port} of uplink {}", nic.uplink)
            }
            Self::RemovePort { bridge: None, port, owner, .. } => {
                write!(formatter, "remove port {port} of {}, which is on no bridge", owner.owner)
            }
            Self::RemoveBridge { bridge, network } => write!(formatter, "remove bridge {bridge} of network {network}"),
            Self::CreateBridge { network, bridge } => {
                write!(formatter, "create bridge {} for network {network}", bridge.name)
            }
            Self::UpdateBridge { network, bridge } => {
                let settings = desired_settings(bridge);
                write!(formatter, "set {settings} and the kind of bridge {} of network {network}", bridge.name)
            }
            Self::CreatePort { attachment, port, .. } => {
                write!(formatter, "create port {} of {attachment} on bridge {}", port.name, port.bridge)
            }
            Self::JoinDevice { port } => {
                let NetworkPort { name, bridge, device, .. } = port;
                write!(formatter, "join device {name} of network {} to bridge {bridge}", device.network)
            }
            Self::Routing(operation) => operation.fmt(formatter),
            Self::UpdatePort { port, owner, settings } => {
                write!(formatter, "set MTU {}, ", settings.mtu)?;
                match &settings.vlan {
                    Some(vlan) => write!(formatter, "{vlan}")?,
                    None => write!(formatter, "no VLAN")?,
                }
                write!(formatter, " and {} on port {port} of {}", settings.rate_limit, owner.owner)
            }
            Self::Uplink(operation) => operation.fmt(formatter),
        }
    }
}
