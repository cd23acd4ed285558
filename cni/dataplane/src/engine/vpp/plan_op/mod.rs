//! Plans an operation, given a snapshot of VPP. Pure.

mod address;
mod bridges;
mod claims;
mod decision;
mod network_device;
mod nic;
mod ports;
mod routing;
mod sub_interface;
mod take_over;
mod vxlan;

pub(super) use claims::Claims;
pub(super) use decision::{Context, Decision, NewPort, Origin};
pub(super) use ports::remove_single_interface;

use self::decision::{Commands, commands};
use crate::engine::error::OpError;
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{DesiredPort, PortBackend, PortName};
use crate::plan::Op;
use std::collections::BTreeSet;

/// The bridge domains that operations are about, if they are about nothing else.
pub(super) fn only_domains(operations: &[Op]) -> Option<BTreeSet<u32>> {
    if operations.is_empty() {
        return None;
    }
    let id = |operation: &Op| match operation {
        Op::RemoveBridge { bridge, .. } => bridge.parse().ok(),
        Op::CreateBridge { bridge } | Op::UpdateBridge { bridge } => bridge.name().as_str().parse().ok(),
        _ => None,
    };
    operations.iter().map(id).collect()
}

/// Plans an operation, given the earlier ones of the same list.
pub(super) fn plan_op<'a>(operation: &'a Op, context: Context<'_>, claims: &mut Claims<'a>) -> Decision<'a> {
    let decision = match operation {
        Op::RemovePort { port, owner, backend, .. } => remove_port(context, port, owner, backend.as_ref()),
        Op::RemoveBridge { bridge, owner } => bridges::remove(context.snapshot, bridge, owner),
        Op::CreateBridge { bridge } => bridges::create(context.snapshot, bridge),
        Op::UpdateBridge { bridge } => bridges::update(context.snapshot, bridge),
        Op::CreatePort { port } => create_port(context, claims, operation, port),
        Op::TakeOverBridge { bridge } => take_over::bridge(context.snapshot, bridge),
        Op::TakeOverPort { port } => take_over::port(context.snapshot, port),
        Op::UpdatePort { port } => ports::update(context, port),
        Op::SetAddress { uplink, address, .. } => {
            address::set_address(context.snapshot, uplink, address.as_ref()).map(|list| in_steps(operation, list))
        }
        Op::Routing(operation) => routing::plan(context.snapshot, claims, operation),
    };
    decision.unwrap_or_else(Decision::Reject)
}

fn remove_port<'a>(
    context: Context<'_>,
    port: &PortName,
    owner: &PortOwner,
    backend: Option<&PortBackend>,
) -> Result<Decision<'a>, OpError> {
    let (snapshot, owner) = (context.snapshot, &owner.owner);
    match owner {
        Owner::Nic(nic) => nic::remove(snapshot, nic).map(commands),
        Owner::Patch(_) => Ok(commands(sub_interface::remove(snapshot, port, owner))),
        Owner::Tunnel(_) => Ok(commands(vxlan::remove(snapshot, port, owner))),
        Owner::Network(_) | Owner::Attachment(_) => ports::remove(context, port, owner, backend),
    }
}

fn create_port<'a>(
    context: Context<'_>,
    claims: &mut Claims<'a>,
    operation: &Op,
    port: &'a DesiredPort,
) -> Result<Decision<'a>, OpError> {
    let Context { snapshot, missing_devices, missing_tunnels, .. } = context;
    let refused = |reason: &str| OpError::Refused { what: operation.to_string(), reason: reason.to_owned() };
    let list = match (&port.backend, &port.owner.owner) {
        (PortBackend::Patch { .. }, _) => return Err(refused("uplinks of VPP have no bridge")),
        (PortBackend::AfXdp { .. }, _) => return Err(refused("NICs of VPP have packet sockets")),
        (PortBackend::Dpdk { .. }, _) => return Err(refused("VPP takes devices by DPDK from its startup.conf alone")),
        (PortBackend::SubInterface, _) => sub_interface::connect(snapshot, port, bridges::of_port(snapshot, port)?)?,
        (PortBackend::Vxlan { ends }, owner) => {
            if let Some(reason) = missing_tunnels {
                return Err(refused(reason));
            }
            let domain = bridges::of_port(snapshot, port)?;
            vxlan::connect(snapshot, &mut claims.tunnel_numbers, owner, ends, domain)?
        }
        (_, Owner::Nic(_)) => nic::join(snapshot, port, missing_devices)?,
        (_, Owner::Network(device)) => return network_device::join(context, claims, port, device),
        (_, _) => return ports::create(context, claims, port),
    };
    Ok(in_steps(operation, list))
}

/// Commands after which the operation may have to be planned again.
fn in_steps<'a>(operation: &Op, (list, is_unfinished): Commands) -> Decision<'a> {
    if is_unfinished {
        let reason = "VPP did not keep what was set".to_owned();
        Decision::Continue(list, OpError::Refused { what: operation.to_string(), reason })
    } else {
        commands(list)
    }
}
