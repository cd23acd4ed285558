//! The diff of observed and desired state: a list of operations. No IO.
//!
//! [`diff()`] lists the deletions (`removal`), the tags for what the legacy plugin created
//! (`take_over`), and then what is created or updated, as far as it differs from what is observed
//! (`matching`; `routing` for gateways); [`plan`] adds the cause of each operation (`cause`);
//! [`blockers`] and [`uplink_blockers`] are the conflicts that it leaves to operators.

mod blocker;
mod cause;
mod change_text;
mod diff;
mod matching;
mod operation;
mod operation_text;
mod removal;
mod routing;
mod take_over;
#[cfg(test)]
mod tests;
mod uplink_blocker;

pub use blocker::{Blocker, blockers};
pub use cause::{Cause, PlanContext, SpecOrigin};
pub use diff::{PlannedOp, diff, plan};
pub use matching::{adoption_blocker, bridge_matches, has_address, has_port, is_port};
pub use operation::Op;
pub use routing::RoutingOp;
pub use uplink_blocker::{UplinkBlocker, uplink_blockers};
