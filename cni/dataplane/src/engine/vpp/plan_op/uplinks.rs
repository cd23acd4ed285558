//! Uplinks, and networks on them.

use super::bridges;
use super::decision::{Context, Decision, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::uplinks;
use crate::model::owner::Owner;
use crate::model::port::PortName;
use crate::plan::UplinkOp;

pub(super) fn plan<'a>(
    Context { snapshot, missing_devices, .. }: Context<'_>,
    operation: &UplinkOp,
) -> Result<Decision<'a>, OpError> {
    let what = || operation.to_string();
    let (list, is_unfinished) = match operation {
        UplinkOp::JoinNic { uplink, nic, .. } => uplinks::join_nic(snapshot, (uplink, nic), missing_devices)?,
        UplinkOp::Connect { pair } => {
            let domain = bridges::of_port(snapshot, (&pair.bridge, pair.ownership), &pair.network)?;
            uplinks::connect(snapshot, pair, domain)?
        }
        UplinkOp::SetAddress { .. } | UplinkOp::CreateTunnel { .. } => {
            let reason = "this release of usnet has no encapsulation by VPP".to_owned();
            return Err(OpError::Refused { what: what(), reason });
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
        Owner::Attachment(_) | Owner::Network(_) | Owner::Tunnel(_) => return None,
    };
    Some(list.map(commands))
}
