//! The commands: single changes of VPP.

use crate::engine::vpp::bridge_settings::BridgeCommand;
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::port_setting_command::PortSettingCommand;
use crate::engine::vpp::ports::{PortCommand, SubInterfaceCommand, TunnelCommand};
use crate::engine::vpp::qos::{Direction, Policer};
use crate::engine::vpp::routing::RoutingCommand;
use crate::engine::vpp::tags::Tag;
use usnet_vpp::messages::{BridgeDomainAddDelV2, SwInterfaceSpanEnableDisable};
use usnet_vpp::wire::FixedText;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum VppCommand {
    CreateBridgeDomain(BridgeDomainAddDelV2),
    DeleteBridgeDomain {
        id: u32,
    },
    /// A setting of a bridge domain changes.
    Bridge(BridgeCommand),
    /// A setting of a port changes.
    PortSetting(PortSettingCommand),
    /// An interface or its socket is created or deleted.
    Port(PortCommand),
    /// A sub-interface of a NIC is created, changed or deleted.
    SubInterface(SubInterfaceCommand),
    /// A tunnel is created, deleted, or joins a bridge domain.
    Tunnel(TunnelCommand),
    /// A gateway or a routing table changes.
    Routing(RoutingCommand),
    /// What filters the frames of a port changes.
    Filter(FilterCommand),
    /// An access list goes, unless others use it.
    DeleteAcl {
        index: u32,
    },
    /// Frames of one interface are not copied to another any more.
    StopSpan(SwInterfaceSpanEnableDisable),
    SetTag {
        index: u32,
        tag: Tag,
    },
    AddPolicer {
        policer: Policer,
    },
    DeletePolicer {
        name: FixedText<64>,
    },
    AttachPolicer {
        index: u32,
        policer: FixedText<64>,
        direction: Direction,
        apply: bool,
    },
    SetAdminUp {
        index: u32,
    },
    SetAdminDown {
        index: u32,
    },
    AddToBridgeDomain {
        index: u32,
        id: u32,
    },
    RemoveFromBridgeDomain {
        index: u32,
        id: u32,
    },
}

impl From<RoutingCommand> for VppCommand {
    fn from(command: RoutingCommand) -> Self {
        Self::Routing(command)
    }
}

impl From<SubInterfaceCommand> for VppCommand {
    fn from(command: SubInterfaceCommand) -> Self {
        Self::SubInterface(command)
    }
}

impl From<TunnelCommand> for VppCommand {
    fn from(command: TunnelCommand) -> Self {
        Self::Tunnel(command)
    }
}

impl From<FilterCommand> for VppCommand {
    fn from(command: FilterCommand) -> Self {
        Self::Filter(command)
    }
}

impl From<PortSettingCommand> for VppCommand {
    fn from(command: PortSettingCommand) -> Self {
        Self::PortSetting(command)
    }
}

impl From<PortCommand> for VppCommand {
    fn from(command: PortCommand) -> Self {
        Self::Port(command)
    }
}
