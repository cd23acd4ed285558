//! The operations of a plan.

use crate::model::attachment::AttachmentId;
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{DesiredPort, PortBackend, PortName};
use crate::model::underlay::UplinkAddress;
use crate::plan::routing::RoutingOp;
use usnet_crds::{BridgeName, NetworkName, UplinkName};

/// One operation on an engine. Deletions name what they expect, so that a driver can reject them if
/// it finds something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Deletes a port that usnet owns.
    RemovePort {
        /// The bridge that it is on, owned by usnet or not; `None` if it is on none.
        bridge: Option<String>,
        port: PortName,
        owner: PortOwner,
        /// What the port is, if that is known. A port that was not tagged yet is identified by its
        /// socket, if usnet owns the socket id.
        backend: Option<PortBackend>,
        /// The index that its interface had in the engine when it was created, if known. It may be
        /// another port's by now: engines use indexes again.
        interface_index: Option<u32>,
    },
    /// Deletes a bridge that usnet owns and that has no ports.
    RemoveBridge { bridge: String, owner: BridgeOwner },
    /// Creates a bridge with an ownership tag.
    CreateBridge { bridge: DesiredBridge },
    /// Updates the settings of a bridge that can change in place, and restores its datapath.
    UpdateBridge {
        /// The bridge as it should be; its owner is the expected one.
        bridge: DesiredBridge,
    },
    /// Creates a port with an ownership tag, and the other one of a pair. One that is there and
    /// disabled is enabled.
    CreatePort { port: Box<DesiredPort> },
    /// Gives an ownership tag to a bridge of the legacy plugin that has ports of its pods alone.
    /// Nothing else of it changes.
    TakeOverBridge { bridge: DesiredBridge },
    /// Gives an ownership tag to a port that the legacy plugin created. Nothing else of it changes.
    TakeOverPort { port: Box<DesiredPort> },
    /// Changes the settings of a port, while packets flow, to those that it should have.
    UpdatePort { port: Box<DesiredPort> },
    /// Gives the engine its address on the NIC of an uplink with its VLAN, or takes it away.
    SetAddress {
        uplink: UplinkName,
        /// The bridge of the uplink, in an engine that has one.
        bridge: Option<BridgeName>,
        /// The address; `None` takes it away.
        address: Option<UplinkAddress>,
    },
    /// Changes gateways and routing tables.
    Routing(RoutingOp),
}

impl From<RoutingOp> for Op {
    fn from(operation: RoutingOp) -> Self {
        Self::Routing(operation)
    }
}

impl Op {
    /// The owner of the port that it is about.
    fn port_owner(&self) -> Option<&PortOwner> {
        match self {
            Self::RemovePort { owner, .. } => Some(owner),
            Self::CreatePort { port } | Self::TakeOverPort { port } | Self::UpdatePort { port } => Some(&port.owner),
            Self::RemoveBridge { .. }
            | Self::CreateBridge { .. }
            | Self::TakeOverBridge { .. }
            | Self::UpdateBridge { .. }
            | Self::SetAddress { .. }
            | Self::Routing(_) => None,
        }
    }

    /// The network that it is for, as far as it is known.
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::RemoveBridge { owner, .. } => owner.network(),
            Self::CreateBridge { bridge } | Self::TakeOverBridge { bridge } | Self::UpdateBridge { bridge } => {
                bridge.network()
            }
            Self::Routing(operation) => operation.network(),
            Self::RemovePort { .. }
            | Self::CreatePort { .. }
            | Self::TakeOverPort { .. }
            | Self::UpdatePort { .. }
            | Self::SetAddress { .. } => self.port_owner()?.network.as_ref(),
        }
    }

    /// The uplink that it is for, if it is for no network.
    pub fn uplink(&self) -> Option<&UplinkName> {
        match self {
            Self::RemoveBridge { owner, .. } => owner.uplink(),
            Self::CreateBridge { bridge } | Self::TakeOverBridge { bridge } | Self::UpdateBridge { bridge } => {
                bridge.uplink()
            }
            Self::SetAddress { uplink, .. } => Some(uplink),
            Self::RemovePort { .. }
            | Self::CreatePort { .. }
            | Self::TakeOverPort { .. }
            | Self::UpdatePort { .. }
            | Self::Routing(_) => self.port_owner()?.owner.uplink(),
        }
    }

    /// The attachment whose port it changes.
    pub fn attachment(&self) -> Option<&AttachmentId> {
        self.port_owner()?.attachment()
    }

    pub fn is_removal(&self) -> bool {
        match self {
            Self::RemovePort { .. } | Self::RemoveBridge { .. } => true,
            Self::Routing(operation) => operation.is_removal(),
            Self::CreateBridge { .. }
            | Self::TakeOverBridge { .. }
            | Self::UpdateBridge { .. }
            | Self::CreatePort { .. }
            | Self::TakeOverPort { .. }
            | Self::UpdatePort { .. }
            | Self::SetAddress { .. } => false,
        }
    }

    /// The name of its kind in metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RemovePort { .. } => "RemovePort",
            Self::RemoveBridge { owner: BridgeOwner::Network(_), .. } => "RemoveBridge",
            Self::RemoveBridge { owner: BridgeOwner::Uplink(_), .. } => "RemoveUplink",
            Self::CreateBridge { bridge: DesiredBridge::Network { .. } } => "CreateBridge",
            Self::CreateBridge { bridge: DesiredBridge::Uplink { .. } } => "CreateUplink",
            Self::UpdateBridge { bridge: DesiredBridge::Network { .. } } => "UpdateBridge",
            Self::UpdateBridge { bridge: DesiredBridge::Uplink { .. } } => "UpdateUplink",
            Self::CreatePort { port } => match port.owner.owner {
                Owner::Nic(_) => "JoinNic",
                Owner::Patch(_) => "ConnectNetwork",
                Owner::Network(_) => "JoinDevice",
                Owner::Tunnel(_) => "CreateTunnel",
                Owner::Attachment(_) => "CreatePort",
            },
            Self::TakeOverBridge { .. } => "TakeOverBridge",
            Self::TakeOverPort { .. } => "TakeOverPort",
            Self::UpdatePort { port } if matches!(port.owner.owner, Owner::Nic(_)) => "UpdateNic",
            Self::UpdatePort { .. } => "UpdatePort",
            Self::SetAddress { .. } => "SetUplinkAddress",
            Self::Routing(operation) => operation.kind(),
        }
    }
}
