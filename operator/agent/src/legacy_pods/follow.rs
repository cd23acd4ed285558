//! Follows the files of the legacy plugin (IO).

use crate::task_cell::TaskCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch::Sender;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::paths::NodePaths;
use usnet_node::legacy_pods::{LegacyInterface, last_changes, read};

/// How often the files are read. They only become fewer, unless the legacy plugin is still in use.
const INTERVAL: Duration = Duration::from_secs(2);
/// For how long files are read again although no folder changed: they may have been written since,
/// and the times of folders are coarse.
const SETTLED: Duration = Duration::from_secs(30);

/// The interfaces that the legacy plugin attached, and what was logged of those that are not taken
/// over.
#[derive(Debug, Default)]
pub(crate) struct Found {
    interfaces: Rc<Vec<LegacyInterface>>,
    logged: BTreeMap<Option<EngineKind>, BTreeMap<PathBuf, String>>,
    /// Why the folders could not be listed.
    problem: Option<String>,
    /// When the folders had changed, when they were read last without a problem.
    settled: Option<Vec<Option<SystemTime>>>,
}

impl Found {
    /// What there is now. The first reconcile needs it: a port of a record that was lost has a tag
    /// and would be a leftover.
    pub(crate) fn read(paths: &NodePaths) -> Self {
        let mut found = Self::default();
        found.update(paths);
        found
    }

    /// Reads the files; returns whether there are other interfaces than before.
    fn update(&mut self, paths: &NodePaths) -> bool {
        let changes = last_changes(paths);
        if self.settled.as_ref() == Some(&changes) && are_old(&changes) {
            return false;
        }
        let error = match read(paths) {
            Ok(pods) => {
                self.settled = pods.problems.is_empty().then_some(changes);
                let problems =
                    pods.problems.iter().map(|(file, problem)| (file.clone(), ErrorChain(problem).to_string()));
                self.log(None, problems.collect());
                self.problem = None;
                let has_changed = *self.interfaces != pods.interfaces;
                self.interfaces = Rc::new(pods.interfaces);
                return has_changed;
            }
            Err(error) => ErrorChain(&error).to_string(),
        };
        if self.problem.as_ref() != Some(&error) {
            tracing::warn!(error, "cannot read the files of Intel's Userspace CNI; its pods are not taken over");
        }
        self.problem = Some(error);
        false
    }

    pub(super) fn interfaces(&self) -> Rc<Vec<LegacyInterface>> {
        Rc::clone(&self.interfaces)
    }

    /// Logs what is new among the reasons why interfaces are not taken over, by their state files;
    /// `engine` is none before that is known.
    pub(super) fn log(&mut self, engine: Option<EngineKind>, problems: BTreeMap<PathBuf, String>) {
        let logged = self.logged.entry(engine).or_default();
        for (file, problem) in problems.iter().filter(|(file, problem)| logged.get(*file) != Some(*problem)) {
            log_one(file, problem);
        }
        *logged = problems;
    }
}

/// Whether the last change is long ago. Without folders there is none.
fn are_old(changes: &[Option<SystemTime>]) -> bool {
    changes.iter().flatten().all(|at| at.elapsed().is_ok_and(|elapsed| elapsed > SETTLED))
}

fn log_one(file: &Path, problem: &str) {
    tracing::warn!(
        file = %file.display(),
        reason = problem,
        "an interface that Intel's Userspace CNI attached is not taken over; nothing of it was changed"
    );
}

/// Reads the files again and again, and wakes the reconcilers when there are other interfaces.
pub(crate) async fn follow(paths: &NodePaths, found: &TaskCell<Found>, changes: &Sender<()>) -> Infallible {
    loop {
        sleep(INTERVAL).await;
        if found.update(|found| found.update(paths)) {
            changes.send_replace(());
        }
    }
}
