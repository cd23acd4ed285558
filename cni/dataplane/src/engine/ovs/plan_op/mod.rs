//! Plans one operation, given a snapshot of the rows. Pure.

mod address;
mod bridges;
mod decision;
mod ports;
mod take_over;

pub(super) use decision::{Action, Decision, NewPort, TaggedRow};

use super::qos::Shaper;
use super::snapshot::OvsSnapshot;
use crate::engine::error::OpError;
use crate::model::port::{DesiredPort, PortBridge};
use crate::plan::Op;
use usnet_crds::{EngineKind, Ownership};

/// Plans an operation on the assumption that there is no conflict, which saves reading; `None` if
/// the rows are needed.
pub(super) fn plan_optimistic(operation: &Op) -> Option<Action<'_>> {
    match operation {
        Op::CreateBridge { bridge } => Some(Action::InsertBridge { bridge }),
        // A bridge without an ownership tag cannot be guarded.
        Op::CreatePort { port } if port.ends().any(is_adopted) => None,
        Op::CreatePort { port } => NewPort::plan(port).ok().map(Action::InsertPort),
        // What limits a port differs with its kind.
        Op::UpdatePort { port } if is_limited(port) => None,
        Op::UpdatePort { port } => Some(Action::UpdatePort { port, shaper: Shaper::Policer }),
        Op::RemovePort { .. }
        | Op::RemoveBridge { .. }
        | Op::TakeOverBridge { .. }
        | Op::TakeOverPort { .. }
        | Op::UpdateBridge { .. }
        | Op::SetAddress { .. }
        | Op::Routing(_) => None,
    }
}

fn is_adopted(port: &DesiredPort) -> bool {
    port.bridge.as_ref().is_some_and(|PortBridge { ownership, .. }| *ownership == Ownership::Adopted)
}

/// Whether the frames are limited that the switch sends through a port.
fn is_limited(port: &DesiredPort) -> bool {
    port.settings.rate_limit.is_some_and(|limit| limit.ingress_kbps.is_some())
}

/// Plans an operation on a snapshot of the rows. They may change before the transaction, which has
/// guards against that.
pub(super) fn plan_op<'a>(operation: &'a Op, snapshot: &OvsSnapshot) -> Decision<'a> {
    match operation {
        // A port that is on no bridge is not in the database either.
        Op::RemovePort { bridge: None, owner, .. } => ports::remove_qos(snapshot, owner),
        Op::RemovePort { bridge: Some(bridge), port, owner, .. } => ports::remove(snapshot, bridge, port, owner),
        Op::RemoveBridge { bridge, owner } => bridges::remove(snapshot, bridge, owner),
        Op::CreateBridge { bridge } => bridges::create(snapshot, bridge),
        Op::UpdateBridge { bridge } if snapshot.bridges.contains_key(bridge.name().as_str()) => {
            bridges::create(snapshot, bridge)
        }
        Op::UpdateBridge { bridge } => Decision::Reject(OpError::BridgeMissing { bridge: bridge.name().to_string() }),
        Op::TakeOverBridge { bridge } => take_over::bridge(snapshot, bridge),
        Op::CreatePort { port } => ports::create(snapshot, port),
        Op::TakeOverPort { port } => take_over::port(snapshot, port),
        Op::UpdatePort { port } => ports::update(snapshot, port),
        Op::SetAddress { uplink, bridge: Some(bridge), address } => {
            address::set(snapshot, uplink, bridge, address.as_ref())
        }
        Op::SetAddress { bridge: None, .. } => refused(operation, "needs a bridge for it"),
        // The API rejects gateways with this engine.
        Op::Routing(_) => refused(operation, "has no gateways"),
    }
}

fn refused<'a>(operation: &Op, why: &str) -> Decision<'a> {
    let reason = format!("{} {why}", EngineKind::OpenVswitch);
    Decision::Reject(OpError::Refused { what: operation.subject(), reason })
}
