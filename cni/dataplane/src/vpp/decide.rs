//! From an operation and what VPP shows to what has to be changed. Pure.

mod bridges;
mod claims;
mod ports;
mod settings;

use super::command::{HostInterfaceName, SocketName, VhostUserPath, VppCommand};
use super::limits::{LimitSupport, Policed, Policers};
use super::snapshot::VppSnapshot;
use super::tags::Tag;
use crate::engine::OpError;
use crate::memif::MemifSocketIds;
use crate::plan::Op;
use crate::port::{PortName, PortSettings};
pub(super) use claims::Claims;
pub(super) use settings::vlan_commands;
use usnet_crds::{NetworkName, Ownership, RingSize};
use usnet_vpp::wire::Secret;

/// What an operation comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// It is so already.
    NoOp,
    /// It must not be done.
    Reject(OpError),
    /// This has to be changed, in this order.
    Apply(Vec<VppCommand>),
    /// A port has to be made, or finished.
    Create(NewPort<'a>),
}

/// A port to make or to finish.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewPort<'a> {
    /// The network that the bridge domain must be marked with, unless it is adopted.
    pub(super) network: &'a NetworkName,
    pub(super) ownership: Ownership,
    pub(super) name: &'a PortName,
    pub(super) domain: u32,
    pub(super) tag: Tag,
    pub(super) settings: PortSettings,
    pub(super) origin: Origin,
    /// Policers of its name that are there, and whether they look at its packets.
    pub(super) policers: Policers,
    pub(super) policed: Policed,
}

/// Where the interface of a port comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is there.
    ExistingInterface { index: u32 },
    /// A memif on a socket that gets this id. What VPP knows of the socket under other ids is of no use to anybody.
    Memif { socket_id: u32, name: SocketName, unused: Vec<u32>, ring_size: RingSize, secret: Option<Secret> },
    /// A vhost-user interface, which VPP marks as it makes it.
    VhostUser { path: VhostUserPath, is_server: bool },
    /// An interface on a device of the kernel.
    AfPacket { name: HostInterfaceName },
}

/// What a decision depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a VppSnapshot,
    /// The memif socket ids that are ours.
    pub(super) own_socket_ids: MemifSocketIds,
    /// What this VPP can limit.
    pub(super) limits: LimitSupport,
}

/// What an operation comes to, in view of the earlier ones of the same list.
pub(super) fn decide<'a>(operation: &'a Op, context: Context<'_>, claims: &mut Claims<'a>) -> Decision<'a> {
    let decision = match operation {
        Op::RemovePort { port, owner, backend, .. } => {
            ports::remove(context, port, &owner.attachment, backend.as_ref())
        }
        Op::RemoveBridge { bridge, network } => bridges::remove(context.snapshot, bridge, network),
        Op::CreateBridge { network, bridge } => bridges::create(context.snapshot, bridge, network),
        Op::UpdateBridge { network, bridge } => bridges::update(context.snapshot, bridge, network),
        Op::CreatePort { network, attachment, port } => ports::create(context, claims, (network, attachment, port)),
        Op::UpdatePort { port, owner, settings } => ports::update(context, port, &owner.attachment, settings),
    };
    decision.unwrap_or_else(Decision::Reject)
}

/// Nothing, or what has to be changed.
fn commands<'a>(commands: Vec<VppCommand>) -> Decision<'a> {
    if commands.is_empty() { Decision::NoOp } else { Decision::Apply(commands) }
}
