//! The conditions of all objects. Conventions: the Kubernetes API conventions, and kstatus, by
//! which GitOps tools evaluate health.
//!
//! - [`types`]: their types.
//! - [`reason`]: their reasons, those that only the agent sets among them.
//! - [`message`]: the text of every message, as functions with typed arguments.
//! - `update`: an evaluated condition, and how a new set replaces an old one.

pub mod message;
pub mod reason;
pub mod types;
#[cfg(feature = "api")]
mod update;

pub use types::{
    ACCEPTED, CONFIGURATIONS_ACCEPTED, DEFINITIONS_READY, DEGRADED, DELETION_BLOCKED, MANIFESTS_ACCEPTED,
    METRICS_SERVED, NETWORKS_PROGRAMMED, OVS_CONNECTED, PROGRAMMED, READY, RECONCILING, STALLED, UPDATED,
    VPP_CONNECTED, engine_connected,
};
#[cfg(feature = "api")]
pub use update::{ConditionUpdate, Status, find, merge};
