//! Tells the agent of the node how the engine is, by a file (IO).

use super::Error;
use super::blocked::Blocked;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::sleep;
use usnet_crds::EngineKind;
use usnet_crds::userspace_engine::supervisor_report::{SupervisorReport, SupervisorState, lock_path, path};
use usnet_dataplane::locks::Lock;

/// How often the lock is tried that the pod of another UserspaceEngine has.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Reporter {
    object: String,
    engine: EngineKind,
    path: PathBuf,
    last: Option<SupervisorReport>,
    _lock: Lock,
}

impl Reporter {
    /// Waits until no other pod runs this engine on the node.
    pub(super) async fn begin(folder: &Path, engine: EngineKind, object: &str) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|source| Error::Report(folder.to_owned(), source))?;
        let lock = lock_path(folder, engine);
        let mut is_said = false;
        loop {
            let taken = Lock::take(&lock, &[0], Duration::ZERO);
            if let Some(held) = taken.map_err(|source| Error::Lock(lock.clone(), source))? {
                let (object, path) = (object.to_owned(), path(folder, engine));
                return Ok(Self { object, engine, path, last: None, _lock: held });
            }
            if !std::mem::replace(&mut is_said, true) {
                tracing::warn!(%engine, "the pod of another UserspaceEngine runs this engine on the node; waiting for its end");
            }
            sleep(RETRY).await;
        }
    }

    /// Reports a state, if it is another one than before, with what blocks the engine or makes it
    /// worse.
    pub(super) fn report(&mut self, state: SupervisorState, blocked: Option<&Blocked>) {
        let reason = blocked.map(|blocked| blocked.reason.to_owned()).unwrap_or_default();
        let message = blocked.map(|blocked| blocked.message.clone()).unwrap_or_default();
        let report = SupervisorReport { object: self.object.clone(), state, reason, message };
        // Each attempt would hide for a moment why the one before failed.
        let is_next_attempt = state == SupervisorState::Starting
            && self.last.as_ref().is_some_and(|last| last.state == SupervisorState::Blocked);
        if is_next_attempt || self.last.as_ref() == Some(&report) {
            return;
        }
        match blocked {
            Some(warning) if state == SupervisorState::Running => {
                tracing::warn!(engine = %self.engine, reason = warning.reason, "the engine runs, but {}", warning.message);
            }
            Some(blocked) => {
                tracing::error!(engine = %self.engine, reason = blocked.reason, "the engine is not started: {}", blocked.message);
            }
            None => tracing::info!(engine = %self.engine, ?state, "the engine"),
        }
        if let Err(error) = self.write(&report) {
            tracing::error!(path = %self.path.display(), %error, "cannot report to the agent of the node");
        }
        self.last = Some(report);
    }

    /// Written whole or not at all: the agent reads it at any time.
    fn write(&self, report: &SupervisorReport) -> std::io::Result<()> {
        let scratch = self.path.with_extension("json.new");
        fs::write(&scratch, serde_json::to_vec(report)?)?;
        fs::rename(&scratch, &self.path)
    }

    /// Removes the report.
    pub(super) fn end(&self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the report");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason::ENGINE_FAILS;

    #[tokio::test]
    async fn the_reason_stays_while_the_start_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineKind::Vpp;
        let mut reporter = Reporter::begin(folder.path(), engine, "vpp").await.unwrap();
        let read =
            || -> SupervisorReport { serde_json::from_slice(&fs::read(path(folder.path(), engine)).unwrap()).unwrap() };
        reporter.report(SupervisorState::Starting, None);
        assert_eq!((read().object.as_str(), read().state), ("vpp", SupervisorState::Starting));
        reporter.report(SupervisorState::Blocked, Some(&Blocked::new(ENGINE_FAILS, "it ends")));
        reporter.report(SupervisorState::Starting, None);
        assert_eq!((read().state, read().reason.as_str()), (SupervisorState::Blocked, ENGINE_FAILS));
        reporter.report(SupervisorState::Running, None);
        assert_eq!((read().state, read().message.as_str()), (SupervisorState::Running, ""));
        reporter.end();
        assert!(!path(folder.path(), engine).exists());
    }

    #[tokio::test]
    async fn a_second_pod_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let begin = || Reporter::begin(folder.path(), EngineKind::OpenVswitch, "ovs");
        let first = begin().await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), begin()).await.is_err());
        drop(first);
        assert!(begin().await.is_ok());
    }
}
