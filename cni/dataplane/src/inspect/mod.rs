//! What an engine knows beside what usnet configured: learned addresses, and texts for a bundle of
//! diagnostics. Read on demand, over connections of its own; nothing is changed.
//!
//! `open_vswitch` and `vpp` each convert the answers of one engine (pure), and read them (IO).

mod open_vswitch;
#[cfg(test)]
mod tests;
mod vpp;

use crate::engine::EngineError;
pub use crate::model::learned_mac::{LearnedMac, PortKind};
use std::path::Path;
use std::time::Duration;
use usnet_crds::EngineKind;

/// How long one exchange with an engine may take.
const TIMEOUT: Duration = Duration::from_secs(4);

/// A text of an engine.
#[derive(Debug)]
pub struct EngineText {
    /// What it is, as the name of a file.
    pub name: String,
    /// The text, or why there is none.
    pub text: Result<String, EngineError>,
}

/// The addresses that a bridge has learned. The name is that of the engine: of a bridge domain its
/// id in digits.
///
/// # Errors
/// When the engine does not answer, or has no such bridge.
pub fn learned_macs(engine: EngineKind, socket: &Path, bridge: &str) -> Result<Vec<LearnedMac>, EngineError> {
    match engine {
        EngineKind::OpenVswitch => open_vswitch::learned_macs(socket, bridge),
        EngineKind::Vpp => vpp::learned_macs(socket, bridge),
    }
}

/// The state of an engine in its own words. Texts may contain what others have configured there.
pub fn texts(engine: EngineKind, socket: &Path) -> Vec<EngineText> {
    match engine {
        EngineKind::OpenVswitch => open_vswitch::texts(socket),
        EngineKind::Vpp => vpp::texts(socket),
    }
}

fn unavailable(engine: EngineKind, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EngineError {
    EngineError::Unavailable { engine, source: source.into() }
}
