//! An engine as it was last observed: step one of a reconcile.

use std::sync::Arc;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node::reconnecting;
use usnet_crds::conditions::reason::DISCONNECTED;
use usnet_dataplane::observed::Observed;

/// The engine at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EngineView {
    /// It answers and carries out changes.
    Up(EngineUp),
    /// It does not.
    Down(Outage),
}

/// An engine that answers and carries out changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineUp {
    /// Its bridges and ports. They are kept to be compared with, and there may be thousands.
    pub observed: Arc<Observed>,
    /// Its version, as it reports it. With Open vSwitch only its own service script writes it into
    /// the database.
    pub version: Option<String>,
}

/// An engine that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outage {
    /// The reason, for conditions.
    pub reason: &'static str,
    /// For users: what failed, where and why.
    pub message: String,
    /// Whether the process of the engine ended, as far as that is known.
    pub has_ended: bool,
}

impl Outage {
    /// The state of the engine is not known.
    pub(crate) fn unknown(engine: EngineKind) -> Self {
        Self { reason: DISCONNECTED, message: reconnecting(engine), has_ended: false }
    }
}
