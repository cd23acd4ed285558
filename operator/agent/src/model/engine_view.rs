//! The last observation of an engine, the result of step one of a reconcile.

use std::sync::Arc;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node::reconnecting;
use usnet_crds::conditions::reason::DISCONNECTED;
use usnet_dataplane::observed::Observed;

/// The observed engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineView {
    /// The engine answers and carries out changes.
    Up(EngineUp),
    Down(Outage),
}

/// An engine that answers and carries out changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineUp {
    /// The bridges and ports. They are shared because the last observation is kept for comparison,
    /// and there may be thousands.
    pub observed: Arc<Observed>,
    /// The version that the engine reports. For Open vSwitch, only its service script writes it
    /// into the database.
    pub version: Option<String>,
    /// What makes it worse, by the pod of a UserspaceEngine: a reason and a text for users.
    pub warning: Option<(&'static str, String)>,
}

/// An engine that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outage {
    /// The reason for conditions.
    pub reason: &'static str,
    /// A text for users: what failed, where and why.
    pub message: String,
    /// Whether the process of the engine is known to have ended.
    pub has_ended: bool,
}

impl Outage {
    /// The outage that is reported while the state of the engine is not known.
    pub(crate) fn unknown(engine: EngineKind) -> Self {
        Self { reason: DISCONNECTED, message: reconnecting(engine), has_ended: false }
    }
}
