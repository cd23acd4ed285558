//! Gateways and routing tables.

use super::bridges;
use super::claims::Claims;
use super::decision::{Decision, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::routing::{self, RoutingDecision};
use crate::engine::vpp::snapshot::VppSnapshot;
use crate::model::routing::NetworkGateway;
use crate::plan::RoutingOp;

pub(super) fn plan<'a>(
    snapshot: &VppSnapshot,
    claims: &mut Claims<'_>,
    operation: &RoutingOp,
) -> Result<Decision<'a>, OpError> {
    let domain = |gateway: &NetworkGateway| bridges::of_managed(snapshot, &gateway.bridge, &gateway.network).ok();
    Ok(match routing::plan(operation, &snapshot.routing, &mut claims.table_ids, domain)? {
        RoutingDecision::Apply(list) => commands(list),
        RoutingDecision::Continue(list, reason) => {
            Decision::Continue(list, OpError::Refused { what: operation.subject(), reason })
        }
    })
}
