//! Plans an operation, given a snapshot of VPP. Pure.

mod bridges;
mod claims;
mod decision;
mod network_port;
mod port_settings;
mod ports;
mod routing;
mod uplinks;

use crate::plan::Op;
pub(super) use claims::Claims;
pub(super) use decision::{Context, Decision, NewPort, Origin};
pub(super) use port_settings::vlan_commands;
pub(super) use ports::remove_single_interface;
use std::collections::BTreeSet;

/// The bridge domains that operations are about, if they are about nothing else.
pub(super) fn only_domains(operations: &[Op]) -> Option<BTreeSet<u32>> {
    if operations.is_empty() {
        return None;
    }
    let id = |operation: &Op| match operation {
        Op::RemoveBridge { bridge, .. } => bridge.parse().ok(),
        Op::CreateBridge { bridge, .. } | Op::UpdateBridge { bridge, .. } => bridge.name.as_str().parse().ok(),
        _ => None,
    };
    operations.iter().map(id).collect()
}

/// Plans an operation, given the earlier ones of the same list.
pub(super) fn plan_op<'a>(operation: &'a Op, context: Context<'_>, claims: &mut Claims<'a>) -> Decision<'a> {
    let decision = match operation {
        Op::RemovePort { port, owner, backend, .. } => uplinks::remove(context, port, &owner.owner)
            .unwrap_or_else(|| ports::remove(context, port, &owner.owner, backend.as_ref())),
        Op::RemoveBridge { bridge, network } => bridges::remove(context.snapshot, bridge, network),
        Op::CreateBridge { network, bridge } => bridges::create(context.snapshot, bridge, network),
        Op::UpdateBridge { network, bridge } => bridges::update(context.snapshot, bridge, network),
        Op::CreatePort { network, attachment, port } => ports::create(context, claims, (network, attachment, port)),
        Op::JoinDevice { port } => network_port::join(context, claims, port),
        Op::Routing(operation) => routing::plan(context.snapshot, claims, operation),
        Op::UpdatePort { port, owner, settings } => ports::update(context, port, &owner.owner, settings),
        Op::Uplink(operation) => uplinks::plan(context, claims, operation),
    };
    decision.unwrap_or_else(Decision::Reject)
}
