//! The probe of an engine's pod: whether its engine runs.

use std::path::PathBuf;
use usnet_crds::userspace_engine::supervisor_report::{self, SupervisorReport, SupervisorState};

/// Why the engine does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Settings(#[from] crate::settings::Error),
    #[error("the engine has not been started: there is no {0}, or it cannot be read")]
    NoReport(PathBuf),
    #[error("{reason}: {message}")]
    NotRunning { reason: String, message: String },
}

/// Checks what the supervisor of this pod reported last.
///
/// # Errors
/// The engine does not run; the text says why.
pub fn check(options: &super::Options) -> Result<String, Error> {
    let (name, valid) = options.read()?;
    let path = supervisor_report::path(&options.reports, valid.engine);
    let text = std::fs::read(&path).map_err(|_| Error::NoReport(path.clone()))?;
    let report: SupervisorReport = serde_json::from_slice(&text).map_err(|_| Error::NoReport(path.clone()))?;
    match report {
        // That of another pod is not about this one.
        report if report.object != name => Err(Error::NoReport(path)),
        SupervisorReport { state: SupervisorState::Running, .. } => Ok(format!("{} runs", valid.engine)),
        SupervisorReport { reason, message, state, .. } => {
            let reason = if reason.is_empty() { format!("{state:?}") } else { reason };
            Err(Error::NotRunning { reason, message })
        }
    }
}
