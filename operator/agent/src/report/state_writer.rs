//! Writes the agent's report to the node's state file, with and without an API server.

use crate::model::report::Report;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;
use usnet_common::backoff::Backoff;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::node as message;
use usnet_crds::conditions::{ConditionUpdate, MANIFESTS_ACCEPTED, Status, reason};
use usnet_dataplane::paths::NodePaths;
use usnet_node::problem::Problem;
use usnet_node::state_file::StateFile;

/// How long a write waits for further changes. They come in bursts when pods are created and
/// deleted.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// First delay after a failure: a full file system is not freed within milliseconds.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest delay: half a minute after the cause is removed the file is current again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The sources of the file's content.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) node: String,
    /// The folder of manifests; none with an API server.
    pub(crate) manifests: Option<PathBuf>,
    pub(crate) problems: Receiver<Option<Vec<Problem>>>,
    pub(crate) reports: Receiver<Option<Report>>,
}

/// Writes the file whenever its content changes. Ends when the agent does.
pub(crate) async fn write(paths: NodePaths, mut sources: Sources) {
    // The transition times of conditions are stored only in the file.
    let mut conditions = match StateFile::read(&paths) {
        Ok(file) => file.map(|file| file.status.conditions).unwrap_or_default(),
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "cannot read the node's state file; replacing it");
            Vec::new()
        }
    };
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    loop {
        let Some(file) = sources.file(&conditions) else {
            if !sources.changed().await {
                return;
            }
            continue;
        };
        conditions.clone_from(&file.status.conditions);
        let is_alive = match file.write(&paths) {
            Ok(()) => {
                backoff.reset();
                sources.changed().await
            }
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot write the node's state file; retrying");
                sleep(backoff.wait()).await;
                true
            }
        };
        if !is_alive {
            return;
        }
        sleep(DEBOUNCE).await;
    }
}

impl Sources {
    /// Returns the content of the file. There is none before the first report, nor before the
    /// folder of manifests was read: without its condition, the transition time of that would be
    /// lost.
    fn file(&mut self, conditions: &[Condition]) -> Option<StateFile> {
        let mut report = self.reports.borrow_and_update().clone()?;
        let problems = self.problems.borrow_and_update().clone();
        if self.manifests.is_some() && problems.is_none() {
            return None;
        }
        report.findings.extend(problems.as_deref().map(accepted));
        let now = Timestamp::now();
        // Kubernetes keeps whole seconds.
        let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
        Some(StateFile {
            version: StateFile::VERSION,
            node: self.node.clone(),
            manifests: self.manifests.clone(),
            manifest_problems: problems.unwrap_or_default(),
            status: report.whole_status(conditions, &now),
        })
    }

    /// Waits for a change; returns false if the agent has ended.
    async fn changed(&mut self) -> bool {
        let problems = async {
            if self.problems.changed().await.is_err() {
                pending::<()>().await;
            }
        };
        tokio::select! {
            change = self.reports.changed() => change.is_ok(),
            () = problems => true,
        }
    }
}

fn accepted(problems: &[Problem]) -> ConditionUpdate {
    match problems {
        [] => ConditionUpdate::new(MANIFESTS_ACCEPTED, Status::True, reason::VALID, message::MANIFESTS_VALID),
        [first, ..] => {
            let message = message::manifests_invalid(problems.len(), first);
            ConditionUpdate::new(MANIFESTS_ACCEPTED, Status::False, reason::INVALID, message)
        }
    }
}
