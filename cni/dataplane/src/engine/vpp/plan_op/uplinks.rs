//! Uplinks, and networks on them.

use super::bridges;
use super::claims::Claims;
use super::decision::{Context, Decision, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::{tunnels, uplinks};
use crate::model::owner::Owner;
use crate::model::port::PortName;
use crate::plan::UplinkOp;
use usnet_crds::Ownership;

pub(super) fn plan<'a>(
    Context { snapshot, missing_devices, missing_tunnels, .. }: Context<'_>,
    claims: &mut Claims<'_>,
    operation: &UplinkOp,
) -> Result<Decision<'a>, OpError> {
    let what = || operation.to_string();
    let (list, is_unfinished) = match operation {
        UplinkOp::JoinNic { uplink, nic, .. } => uplinks::join_nic(snapshot, (uplink, nic), missing_devices)?,
        UplinkOp::Connect { pair } => {
            let domain = bridges::of_port(snapshot, (&pair.bridge, pair.ownership), &pair.network)?;
            uplinks::connect(snapshot, pair, domain)?
        }
        UplinkOp::SetAddress { uplink, address, .. } => uplinks::set_address(snapshot, uplink, address.as_ref())?,
        UplinkOp::CreateTunnel { tunnel } => {
            if let Some(reason) = missing_tunnels {
                return Err(OpError::Refused { what: what(), reason: reason.to_owned() });
            }
            let domain = bridges::of_port(snapshot, (&tunnel.bridge, Ownership::Managed), &tunnel.network)?;
            tunnels::connect(snapshot, &mut claims.tunnel_numbers, (&tunnel.owner().owner, &tunnel.ends), domain)?
        }
        UplinkOp::CreateBridge { .. }
        | UplinkOp::RestoreBridge { .. }
        | UplinkOp::RemoveBridge { .. }
        | UplinkOp::SetVlans { .. } => {
            return Err(OpError::Refused { what: what(), reason: "uplinks of VPP have no bridge".to_owned() });
        }
    };
    Ok(match is_unfinished {
        true => {
            let reason = "VPP did not keep what was set".to_owned();
            Decision::Continue(list, OpError::Refused { what: what(), reason })
        }
        false => commands(list),
    })
}

/// Deletes a NIC, or what connects a network; `None` for a port of any other owner.
pub(super) fn remove<'a>(
    Context { snapshot, .. }: Context<'_>,
    port: &PortName,
    owner: &Owner,
) -> Option<Result<Decision<'a>, OpError>> {
    let list = match owner {
        Owner::Nic(nic) => uplinks::remove_nic(snapshot, nic),
        Owner::Patch(_) => Ok(uplinks::remove_connection(snapshot, port, owner)),
        Owner::Tunnel(_) => Ok(tunnels::remove(snapshot, port, owner)),
        Owner::Attachment(_) | Owner::Network(_) => return None,
    };
    Some(list.map(commands))
}
