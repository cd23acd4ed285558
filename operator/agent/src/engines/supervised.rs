//! What the pod of a UserspaceEngine says of an engine that cannot be reached (IO).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use usnet_common::display::OneLine;
use usnet_crds::EngineKind;
use usnet_crds::conditions::reason::{self, ENGINE_STARTING};
use usnet_crds::userspace_engine::supervisor_report::{self, SIZE_MAX, SupervisorReport, SupervisorState};
use usnet_dataplane::locks::Lock;
use usnet_dataplane::paths::NodePaths;

/// The files of the pod that runs an engine, if one does.
#[derive(Debug)]
pub(crate) struct Supervised {
    folder: PathBuf,
    engine: EngineKind,
}

impl Supervised {
    pub(crate) fn of(engine: EngineKind, paths: &NodePaths) -> Self {
        Self { folder: paths.run.join("engines"), engine }
    }

    /// Why the engine is down, as a reason and a message; none if no living pod says so. What a
    /// killed pod left does not count.
    pub(crate) fn why_down(&self) -> Option<(&'static str, String)> {
        let report = self.report()?;
        match report.state {
            SupervisorState::Starting => {
                Some((ENGINE_STARTING, format!("UserspaceEngine {} is starting it", report.object)))
            }
            SupervisorState::Blocked => Some(cause(&report)),
            SupervisorState::Running => None,
        }
    }

    /// What makes a running engine worse, as a reason and a message.
    pub(crate) fn warning(&self) -> Option<(&'static str, String)> {
        let report = self.report()?;
        (report.state == SupervisorState::Running && !report.reason.is_empty()).then(|| cause(&report))
    }

    /// What the pod reported, if it lives.
    fn report(&self) -> Option<SupervisorReport> {
        let report = read(&supervisor_report::path(&self.folder, self.engine))?;
        is_held(&supervisor_report::lock_path(&self.folder, self.engine)).then_some(report)
    }
}

fn cause(report: &SupervisorReport) -> (&'static str, String) {
    // A newer pod may have reasons that this agent does not know.
    let reason = reason::find(&report.reason).map_or(reason::ENGINE_FAILS, |known| known.name);
    (reason, format!("UserspaceEngine {}: {}", report.object, OneLine(&report.message)))
}

fn read(path: &Path) -> Option<SupervisorReport> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(SIZE_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn is_held(lock: &Path) -> bool {
    lock.exists() && matches!(Lock::take(lock, &[0], Duration::ZERO), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use usnet_crds::conditions::reason::{CPUS_NOT_ISOLATED, ENGINE_FAILS, INSUFFICIENT_HUGEPAGES};

    #[test]
    fn only_a_living_pod_says_why_its_engine_is_down() {
        let folder = tempfile::tempdir().unwrap();
        let supervised = Supervised { folder: folder.path().to_owned(), engine: EngineKind::OpenVswitch };
        let write = |text: &str| fs::write(folder.path().join("OVS.json"), text).unwrap();
        let blocked = |reason: &str| {
            format!(r#"{{"object": "ovs", "state": "Blocked", "reason": "{reason}", "message": "too\nfew"}}"#)
        };
        write(&blocked(INSUFFICIENT_HUGEPAGES));
        assert_eq!(supervised.why_down(), None, "no pod lives");
        let lock = Lock::take(&folder.path().join("OVS.lock"), &[0], Duration::ZERO).unwrap();
        let (reason, message) = supervised.why_down().unwrap();
        assert_eq!(reason, INSUFFICIENT_HUGEPAGES);
        assert!(message.starts_with("UserspaceEngine ovs: too") && !message.contains('\n'), "{message}");
        write(&blocked("OfALaterVersion"));
        assert_eq!(supervised.why_down().unwrap().0, ENGINE_FAILS);
        write(r#"{"object": "ovs", "state": "Starting"}"#);
        assert_eq!(supervised.why_down().unwrap().0, ENGINE_STARTING);
        for other in ["{", r#"{"object": "ovs", "state": "Running"}"#] {
            write(other);
            assert_eq!(supervised.why_down(), None, "{other}");
            assert_eq!(supervised.warning(), None, "{other}");
        }
        write(r#"{"object": "ovs", "state": "Running", "reason": "CPUsNotIsolated", "message": "2-3"}"#);
        assert_eq!(supervised.warning(), Some((CPUS_NOT_ISOLATED, "UserspaceEngine ovs: 2-3".to_owned())));
        assert_eq!(supervised.why_down(), None);
        write(&blocked(INSUFFICIENT_HUGEPAGES));
        drop(lock);
        assert_eq!(supervised.why_down(), None);
    }
}
