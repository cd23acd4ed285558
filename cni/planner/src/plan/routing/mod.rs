//! Gateways and routing tables in a plan: their operations, and which of them are needed.

mod diff;
mod operation;

pub(super) use diff::{RoutingChanges, changes};
pub use operation::RoutingOp;
