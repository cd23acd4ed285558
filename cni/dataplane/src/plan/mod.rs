//! The diff of observed and desired state: a list of operations. No IO.
//!
//! [`diff()`] lists the deletions (`removal`) and then what is created or updated, as far as it
//! differs from what is observed (`matching`; `routing` for gateways); [`plan`] adds the cause of
//! each operation (`cause`); [`blockers`] are the conflicts that it leaves to operators.

mod blocker;
mod cause;
mod diff;
mod matching;
mod operation;
mod removal;
mod routing;
#[cfg(test)]
mod tests;
mod underlay;
mod uplink;
mod uplink_operation;

pub use blocker::{Blocker, blockers};
pub use cause::{Cause, PlanContext, SpecOrigin};
pub use diff::{PlannedOp, diff, plan};
pub(crate) use matching::{
    adoption_blocker, bridge_matches_spec, network_port_matches, port_matches_spec, tunnel_matches,
};
pub use operation::Op;
pub use routing::RoutingOp;
pub use underlay::{has_address, has_tunnels};
pub(crate) use uplink::uplink_bridge_matches;
pub use uplink::{UplinkBlocker, is_connected, uplink_blockers};
pub use uplink_operation::UplinkOp;
