//! Single changes of VPP, each of them one request, and batches of them.

mod requests;

use super::limits::{Direction, Policer};
use super::tags::Tag;
use crate::engine::EngineError;
use usnet_crds::{Mtu, RingSize, VlanTag};
use usnet_vpp::messages::{
    AfPacketDelete, BdFlags, BridgeDomainSetMacAge, BridgeFlags, DeleteVhostUserIf, IfStatusFlags,
    L2InterfaceEfpFilter, MemifDelete, PolicerAddDel, SwInterfaceSetFlags, SwInterfaceTagAddDel,
};
use usnet_vpp::wire::{FixedText, Secret};
use usnet_vpp::{Answers, Api, Batch, ReplyError};

/// The name of a memif socket, as all releases take it.
pub(super) type SocketName = FixedText<108>;
/// The path of a vhost-user socket.
pub(super) type VhostUserPath = FixedText<256>;
/// The name of a kernel device.
pub(super) type HostInterfaceName = FixedText<64>;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VppCommand {
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

/// The result of a command: the index of the interface that it created, or 0.
pub(super) type Outcome = Result<u32, ReplyError>;

/// Finds an outcome in the answers.
type Find = Box<dyn Fn(&Answers) -> Outcome + Send + Sync>;

/// Changes in a batch.
pub(super) struct CommandBatch(Vec<Find>);

impl CommandBatch {
    /// Adds changes to a batch, in this order.
    pub(super) fn request<'a>(
        batch: &mut Batch,
        api: &impl Api,
        commands: impl IntoIterator<Item = &'a VppCommand>,
    ) -> Self {
        Self(commands.into_iter().map(|command| command.add_to(batch, api)).collect())
    }

    /// An outcome for each.
    pub(super) fn outcomes(&self, answers: &Answers) -> Vec<Outcome> {
        self.0.iter().map(|find| find(answers)).collect()
    }
}

/// Sends commands in this order in one batch, and returns an outcome for each.
pub(super) async fn send<'a>(
    api: &mut impl Api,
    commands: impl IntoIterator<Item = &'a VppCommand>,
) -> Result<Vec<Outcome>, EngineError> {
    let mut batch = Batch::new();
    let commands = CommandBatch::request(&mut batch, api, commands);
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    Ok(commands.outcomes(&api.send(&batch).await?))
}

impl VppCommand {
    /// Whether the outcome is the index of a new interface.
    pub(super) fn creates_interface(&self) -> bool {
        matches!(self, Self::CreateMemif { .. } | Self::CreateVhostUser { .. } | Self::CreateAfPacket { .. })
    }

    fn add_to(&self, batch: &mut Batch, api: &impl Api) -> Find {
        match self {
            Self::CreateBridgeDomain { id, tag, learns, mac_age_minutes } => {
                let request = requests::bridge_domain(*id, tag, *learns, *mac_age_minutes);
                requests::add_bridge_domain(batch, api, request)
            }
            Self::DeleteBridgeDomain { id } => requests::delete_bridge_domain(batch, api, *id),
            Self::SetBridgeDomainFlags { id, flags, is_set } => {
                requests::add(batch, BridgeFlags { bd_id: *id, is_set: *is_set, flags: *flags })
            }
            Self::SetMacAge { id, minutes } => {
                requests::add(batch, BridgeDomainSetMacAge { bd_id: *id, mac_age: *minutes })
            }
            Self::AddMemifSocket { id, name } => requests::memif_socket(batch, api, *id, Some(name)),
            Self::DeleteMemifSocket { id } => requests::memif_socket(batch, api, *id, None),
            Self::CreateMemif { socket_id, ring_size, secret } => {
                requests::add_memif(batch, api, *socket_id, *ring_size, secret.as_ref())
            }
            Self::DeleteMemif { index } => requests::add(batch, MemifDelete { sw_if_index: *index }),
            Self::CreateVhostUser { path, is_server, tag } => {
                requests::add_with(batch, requests::vhost_user(path, *is_server, tag), |reply| reply.sw_if_index)
            }
            Self::DeleteVhostUser { index } => requests::add(batch, DeleteVhostUserIf { sw_if_index: *index }),
            Self::CreateAfPacket { name } => {
                requests::add_with(batch, requests::af_packet(name.clone()), |reply| reply.sw_if_index)
            }
            Self::DeleteAfPacket { name } => requests::add(batch, AfPacketDelete { host_if_name: name.clone() }),
            Self::SetTag { index, tag } => {
                requests::add(batch, SwInterfaceTagAddDel { is_add: true, sw_if_index: *index, tag: tag.clone() })
            }
            Self::SetMtu { index, mtu } => requests::add(batch, requests::mtu(*index, *mtu)),
            Self::SetVlan { index, vlan } => requests::add(batch, requests::vlan_tag_rewrite(*index, *vlan)),
            Self::SetEfpFilter { index, is_on } => {
                requests::add(batch, L2InterfaceEfpFilter { sw_if_index: *index, enable_disable: *is_on })
            }
            Self::AddPolicer { policer } => requests::add(batch, policer.request()),
            Self::DeletePolicer { name } => {
                requests::add(batch, PolicerAddDel { is_add: false, name: name.clone(), ..PolicerAddDel::default() })
            }
            Self::AttachPolicer { index, policer, direction, apply } => {
                requests::attach_policer(batch, *index, policer, *direction, *apply)
            }
            Self::SetAdminUp { index } => {
                requests::add(batch, SwInterfaceSetFlags { sw_if_index: *index, flags: IfStatusFlags::ADMIN_UP })
            }
            Self::AddToBridgeDomain { index, id } => requests::add(batch, requests::membership(*index, *id, true)),
            Self::RemoveFromBridgeDomain { index, id } => {
                requests::add(batch, requests::membership(*index, *id, false))
            }
        }
    }
}
