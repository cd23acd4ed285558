//! The commands: single changes of VPP.

use crate::engine::vpp::qos::{Direction, Policer};
use crate::engine::vpp::tags::Tag;
use usnet_crds::{Mtu, RingSize, VlanTag};
use usnet_vpp::messages::BdFlags;
use usnet_vpp::wire::{FixedText, Secret};

/// The name of a memif socket, as all releases take it.
pub(in crate::engine::vpp) type SocketName = FixedText<108>;
/// The path of a vhost-user socket.
pub(in crate::engine::vpp) type VhostUserPath = FixedText<256>;
/// The name of a kernel device.
pub(in crate::engine::vpp) type HostInterfaceName = FixedText<64>;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum VppCommand {
    CreateBridgeDomain {
        id: u32,
        tag: Tag,
        learns: bool,
        mac_age_minutes: u8,
    },
    DeleteBridgeDomain {
        id: u32,
    },
    SetBridgeDomainFlags {
        id: u32,
        flags: BdFlags,
        is_set: bool,
    },
    SetMacAge {
        id: u32,
        minutes: u8,
    },
    AddMemifSocket {
        id: u32,
        name: SocketName,
    },
    DeleteMemifSocket {
        id: u32,
    },
    CreateMemif {
        socket_id: u32,
        ring_size: RingSize,
        secret: Option<Secret>,
    },
    DeleteMemif {
        index: u32,
    },
    CreateVhostUser {
        path: VhostUserPath,
        is_server: bool,
        tag: Tag,
    },
    DeleteVhostUser {
        index: u32,
    },
    CreateAfPacket {
        name: HostInterfaceName,
    },
    DeleteAfPacket {
        name: HostInterfaceName,
    },
    SetTag {
        index: u32,
        tag: Tag,
    },
    SetMtu {
        index: u32,
        mtu: Mtu,
    },
    SetVlan {
        index: u32,
        vlan: Option<VlanTag>,
    },
    /// Without it a port gets the frames of all VLANs, each without its tag.
    SetEfpFilter {
        index: u32,
        is_on: bool,
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
    AddToBridgeDomain {
        index: u32,
        id: u32,
    },
    RemoveFromBridgeDomain {
        index: u32,
        id: u32,
    },
}

impl VppCommand {
    /// Whether the outcome is the index of a new interface.
    pub(in crate::engine::vpp) fn creates_interface(&self) -> bool {
        matches!(self, Self::CreateMemif { .. } | Self::CreateVhostUser { .. } | Self::CreateAfPacket { .. })
    }
}
