//! Step one of a pass: what the engine shows. The journal is read after the engine, because a record comes before its port: a port that
//! was seen without a record has none.

use usnet_crds::Engine;
use usnet_crds::conditions::reason::DISCONNECTED;
use usnet_dataplane::observed::Observed;

/// The engine at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EngineView {
    /// It answers and acts.
    Up(EngineUp),
    /// It does not.
    Down(Outage),
}

/// An engine that answers and acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EngineUp {
    /// What it has.
    pub observed: Observed,
    /// Its version, as it says itself. With Open vSwitch only its own service script writes it into the database.
    pub version: Option<String>,
}

/// An engine that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outage {
    /// In one word, for conditions.
    pub reason: &'static str,
    /// For people: what, where, why.
    pub message: String,
}

impl Outage {
    /// Nobody knows how the engine is.
    pub(super) fn unknown(engine: Engine) -> Self {
        Self { reason: DISCONNECTED, message: format!("the connection to {engine} is being made again") }
    }
}
