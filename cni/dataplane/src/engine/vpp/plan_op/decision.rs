//! The outcome of planning one operation, and what it depends on.

use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::qos::{LimitSupport, Policed, Policers};
use crate::engine::vpp::routing::RoutedPort;
use crate::engine::vpp::snapshot::VppSnapshot;
use crate::engine::vpp::tags::Tag;
use crate::model::memif::MemifSocketIds;
use crate::model::port::{PortName, PortSettings};
use usnet_crds::{NetworkName, Ownership};

/// Outcome of planning one operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Decision<'a> {
    /// VPP is as desired already.
    NoOp,
    /// It is refused.
    Reject(OpError),
    /// These commands have to be sent, in this order.
    Apply(Vec<VppCommand>),
    /// These commands have to be sent, and then the operation is planned again. If that does not
    /// end, this is why.
    Continue(Vec<VppCommand>, OpError),
    /// A port has to be created or completed.
    Create(NewPort<'a>),
}

/// A port to create or to complete.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewPort<'a> {
    /// The network that must own the bridge domain, unless it is adopted.
    pub(in crate::engine::vpp) network: &'a NetworkName,
    pub(in crate::engine::vpp) ownership: Ownership,
    pub(in crate::engine::vpp) name: &'a PortName,
    pub(in crate::engine::vpp) domain: u32,
    pub(in crate::engine::vpp) tag: Tag,
    pub(in crate::engine::vpp) settings: PortSettings,
    pub(in crate::engine::vpp) origin: Origin,
    /// For a port in IP mode, which is not a member of the bridge domain.
    pub(in crate::engine::vpp) routed: Option<Box<RoutedPort>>,
    /// The existing policers of this port, and whether they are attached to its interface.
    pub(in crate::engine::vpp) policers: Policers,
    pub(in crate::engine::vpp) policed: Policed,
}

/// Where the interface of a port comes from.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Origin {
    /// It exists already.
    Existing { index: u32 },
    /// It is created.
    New(NewInterface),
}

/// What a decision depends on.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::vpp) struct Context<'a> {
    pub(in crate::engine::vpp) snapshot: &'a VppSnapshot,
    /// The memif socket ids that usnet owns.
    pub(in crate::engine::vpp) own_socket_ids: MemifSocketIds,
    /// What this VPP can limit.
    pub(in crate::engine::vpp) limits: LimitSupport,
    /// Why this VPP has no interfaces on devices of the kernel.
    pub(in crate::engine::vpp) missing_devices: Option<&'a str>,
    /// Why this VPP has no VXLAN tunnels.
    pub(in crate::engine::vpp) missing_tunnels: Option<&'a str>,
}

/// No operation, or the commands.
pub(super) fn commands<'a>(commands: Vec<VppCommand>) -> Decision<'a> {
    if commands.is_empty() { Decision::NoOp } else { Decision::Apply(commands) }
}
