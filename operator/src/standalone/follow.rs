//! Follows a folder of manifests (IO).

use super::baseline::Baseline;
use super::evaluate::{Evaluation, evaluate};
use super::files::folder::Folder;
use super::files::watch;
use super::problem::Problem;
use crate::agent::model::input::Input;
use crate::agent::model::report::Report;
use crate::agent::model::spec::NodeSpec;
use crate::channels::send_if_changed;
use std::collections::BTreeSet;
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// How long a writer that does not replace its file atomically may take: files are read until their
/// content is the same twice.
const SETTLE: Duration = Duration::from_millis(50);

/// The channels between a folder of manifests and the agent.
#[derive(Debug)]
pub struct Channels {
    /// To the agent: what it selects the node's networks from.
    pub inputs: Sender<Option<Input>>,
    /// From the agent: the report of the node.
    pub reports: Receiver<Option<Report>>,
    /// To the state file: what is wrong in the folder; none before it was read.
    pub problems: Sender<Option<Vec<Problem>>>,
}

/// Follows the manifests in a folder for this node, starting with the spec that an earlier agent
/// `held`. Ends when the agent does.
pub async fn follow(folder: PathBuf, node: String, held: Option<Arc<NodeSpec>>, channels: Channels) {
    let (changes, mut changed) = channel(());
    let Channels { inputs, mut reports, problems } = channels;
    let mut manifests =
        Manifests { folder: Folder::new(folder.clone()), node, held, last: None, logged: BTreeSet::new() };
    let work = async {
        manifests.read().await;
        let mut is_due = true;
        loop {
            is_due |= manifests.update_held(reports.borrow_and_update().as_ref());
            if is_due {
                let Evaluation { input, problems: found } = manifests.evaluate();
                send_if_changed(&inputs, Some(input));
                send_if_changed(&problems, Some(found));
            }
            is_due = tokio::select! {
                change = reports.changed() => {
                    if change.is_err() {
                        return;
                    }
                    false
                }
                change = changed.changed() => {
                    if change.is_err() {
                        pending::<()>().await;
                    }
                    manifests.read().await
                }
            };
        }
    };
    tokio::select! {
        () = watch::follow(&folder, &changes) => {}
        () = work => {}
    }
}

struct Manifests {
    folder: Folder,
    node: String,
    /// The current spec of the node, as far as it is known.
    held: Option<Arc<NodeSpec>>,
    last: Option<Input>,
    logged: BTreeSet<Problem>,
}

impl Manifests {
    /// Reads the folder until its content is the same twice; returns whether anything changed.
    async fn read(&mut self) -> bool {
        let mut texts = self.folder.texts();
        loop {
            sleep(SETTLE).await;
            let again = self.folder.texts();
            let is_settled = match (&texts, &again) {
                (Ok(texts), Ok(again)) => texts == again,
                (Err(_), Err(_)) => true,
                _ => false,
            };
            texts = again;
            if is_settled {
                break;
            }
        }
        self.folder.update(texts)
    }

    /// Returns whether the current spec of the node has changed.
    fn update_held(&mut self, report: Option<&Report>) -> bool {
        let Some(reported) = report.and_then(|report| report.spec.as_ref()) else { return false };
        let has_changed = self.held.as_ref() != Some(reported);
        self.held = Some(Arc::clone(reported));
        has_changed
    }

    fn evaluate(&mut self) -> Evaluation {
        let baseline = Baseline::new(self.held.as_ref(), self.last.as_ref());
        let evaluation = evaluate(&self.folder, &self.node, &baseline);
        self.log(&evaluation.problems);
        self.last = Some(evaluation.input.clone());
        evaluation
    }

    fn log(&mut self, problems: &[Problem]) {
        let found: BTreeSet<Problem> = problems.iter().cloned().collect();
        for problem in found.difference(&self.logged) {
            tracing::warn!(folder = %self.folder.path().display(), "{problem}");
        }
        if found.is_empty() && !self.logged.is_empty() {
            tracing::info!(folder = %self.folder.path().display(), "all manifests are valid again");
        }
        self.logged = found;
    }
}
