//! Decides what to do for an operation, given a snapshot of VPP. Pure.

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

/// Outcome of planning one operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// It is so already.
    NoOp,
    /// It must not be done.
    Reject(OpError),
    /// This has to be changed, in this order.
    Apply(Vec<VppCommand>),
    /// A port has to be created or completed.
    Create(NewPort<'a>),
}

/// A port to create or to complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewPort<'a> {
    /// The network that must own the bridge domain, unless it is adopted.
    pub(super) network: &'a NetworkName,
    pub(super) ownership: Ownership,
    pub(super) name: &'a PortName,
    pub(super) domain: u32,
    pub(super) tag: Tag,
    pub(super) settings: PortSettings,
    pub(super) origin: Origin,
    /// The existing policers of this port, and whether they are attached to its interface.
    pub(super) policers: Policers,
    pub(super) policed: Policed,
}

/// Where the interface of a port comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is there.
    ExistingInterface { index: u32 },
    /// A memif on a socket that gets this id. Other ids of the same socket in VPP are unused and
    /// are deleted.
    Memif { socket_id: u32, name: SocketName, unused: Vec<u32>, ring_size: RingSize, secret: Option<Secret> },
    /// A vhost-user interface, which VPP creates with its tag.
    VhostUser { path: VhostUserPath, is_server: bool },
    /// A host interface (af_packet) on a kernel device.
    AfPacket { name: HostInterfaceName },
}

/// What a decision depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a VppSnapshot,
    /// The memif socket ids that usnet owns.
    pub(super) own_socket_ids: MemifSocketIds,
    /// What this VPP can limit.
    pub(super) limits: LimitSupport,
}

/// Decides on an operation, given the earlier ones of the same list.
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

/// No operation, or the commands.
fn commands<'a>(commands: Vec<VppCommand>) -> Decision<'a> {
    if commands.is_empty() { Decision::NoOp } else { Decision::Apply(commands) }
}
