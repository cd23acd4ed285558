//! The outcome of planning one operation, and what it depends on.

use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::guard::GuardChange;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::qos::{LimitSupport, Policed, Policers};
use crate::engine::vpp::routing::RoutedPort;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags::Tag;
use crate::model::memif::MemifSocketIds;
use crate::model::port::DesiredPort;
use usnet_crds::UplinkName;

/// Outcome of planning one operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Decision<'a> {
    /// VPP is as desired already.
    NoOp,
    Reject(OpError),
    /// These commands have to be sent, in this order.
    Apply(Vec<VppCommand>),
    /// These commands have to be sent, and then the operation is planned again. If that does not
    /// end, this is why.
    Continue(Vec<VppCommand>, OpError),
    /// These commands have to be sent, and then what the pod of the port may claim to be changes.
    /// The last commands follow that.
    Guard(Vec<VppCommand>, Box<GuardChange>, Vec<VppCommand>),
    /// A port has to be created or completed.
    Create(NewPort<'a>),
}

/// A port to create or to complete.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::vpp) struct NewPort<'a> {
    pub(in crate::engine::vpp) port: &'a DesiredPort,
    pub(in crate::engine::vpp) domain: u32,
    pub(in crate::engine::vpp) tag: Tag,
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
    Existing { index: u32 },
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

/// Commands, and whether the operation is planned again on a new snapshot once they were sent.
pub(super) type Commands = (Vec<VppCommand>, bool);

/// No operation, or the commands.
pub(super) fn commands<'a>(commands: Vec<VppCommand>) -> Decision<'a> {
    if commands.is_empty() { Decision::NoOp } else { Decision::Apply(commands) }
}

/// The interface on the NIC of an uplink.
pub(super) fn nic_of<'a>(snapshot: &'a VppSnapshot, uplink: &UplinkName) -> Result<(u32, &'a Interface), OpError> {
    snapshot.nic_of(uplink).ok_or_else(|| OpError::Refused {
        what: format!("uplink {uplink}"),
        reason: format!("VPP has no NIC of uplink {uplink}"),
    })
}
