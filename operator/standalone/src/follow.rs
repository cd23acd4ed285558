//! Follows a folder of manifests (IO).

use super::baseline::Baseline;
use super::evaluate::{Evaluation, evaluate};
use super::files::folder::Folder;
use super::files::watch;
use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::channel;
use tokio::time::sleep;
use usnet_agent::Manifests;
use usnet_agent::model::input::Input;
use usnet_agent::model::report::Report;
use usnet_agent::model::spec::NodeSpec;
use usnet_common::channels::send_if_changed;
use usnet_node::problem::Problem;

/// How long a writer may take that does not replace its file atomically. Files are read until two
/// readings are equal.
const SETTLE: Duration = Duration::from_millis(50);

/// Follows the manifests in a folder for a node. Ends when its agent does.
pub async fn follow(manifests: Manifests) {
    let (changes, mut changed) = channel(());
    let Manifests { folder, node, held, inputs, mut reports, problems } = manifests;
    let mut follower =
        Follower { folder: Folder::new(folder.clone()), node, held, last: None, logged: BTreeSet::new() };
    let work = async {
        follower.read().await;
        let mut is_due = true;
        loop {
            is_due |= follower.update_held(reports.borrow_and_update().as_ref());
            if is_due {
                let Evaluation { input, problems: found } = follower.evaluate();
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
                    follower.read().await
                }
            };
        }
    };
    tokio::select! {
        () = watch::follow(&folder, &changes) => {}
        () = work => {}
    }
}

struct Follower {
    folder: Folder,
    node: String,
    /// The current spec of the node, if known.
    held: Option<Arc<NodeSpec>>,
    last: Option<Input>,
    logged: BTreeSet<Problem>,
}

impl Follower {
    /// Reads the folder until two readings are equal; returns whether anything changed.
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

    /// Updates the current spec of the node from a report; returns whether it has changed.
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
