//! A node without an API server: the objects of usnet as YAML files in a folder, for this one node. [`folder`] and [`document`] read them, [`cluster`] and [`decide`] make of them
//! what the controller would, with its own `compile`, and the agent gets it as it gets the spec of a `UserspaceNodeState`.
//!
//! A file that cannot be used changes nothing: what it said last stays, also over a restart, and the node's state file says what is wrong with it. A network that is in no
//! file any more goes as one that was deleted: it stays until its pods have gone.

mod cluster;
mod decide;
mod definitions;
mod document;
mod folder;
mod locate;
pub mod problem;
mod watch;

use crate::agent::spec::{NodeSpec, Report};
use crate::controller::inputs::NodeStatus;
use crate::controller::parse;
use cluster::NodeFacts;
use decide::{Decision, decide};
use folder::Folder;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use problem::Problem;
use std::collections::BTreeSet;
use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::sleep;

/// A writer that does not replace its file at once is given this long: files are taken when they say the same twice.
const SETTLE: Duration = Duration::from_millis(50);

/// What a folder is followed with.
#[derive(Debug)]
pub struct Channels {
    /// To the agent: what the node should have.
    pub specs: Sender<Option<NodeSpec>>,
    /// From the agent: what it has. Which engines there are and which networks have no pods any more decides with the files.
    pub reports: Receiver<Option<Report>>,
    /// To whoever tells people: what is wrong in the folder; none before it was read.
    pub problems: Sender<Option<Vec<Problem>>>,
}

/// Follows the manifests in a folder for this node, beginning with what an earlier agent `held`. Ends when the agent does.
pub async fn follow(folder: PathBuf, node: String, held: Option<NodeSpec>, channels: Channels) {
    let (changes, mut changed) = channel(());
    let (mut reports, specs, problems) = (channels.reports, channels.specs, channels.problems);
    let mut manifests = Manifests { folder: Folder::new(folder.clone()), node, held, told: BTreeSet::new() };
    let work = async {
        manifests.read().await;
        let mut decided = None;
        loop {
            // Which engines the node has is known with the first report, in a second at most.
            let status = reports.borrow_and_update().clone().map(status);
            if let Some(status) = status.filter(|status| decided.as_ref() != Some(status)) {
                let Decision { spec, problems: found } = manifests.decide(&status);
                decided = Some(status);
                specs.send_if_modified(|known| {
                    let is_news = known.as_ref() != Some(&spec);
                    *known = Some(spec);
                    is_news
                });
                problems.send_replace(Some(found));
            }
            tokio::select! {
                news = reports.changed() => if news.is_err() { return },
                news = changed.changed() => {
                    if news.is_err() {
                        pending::<()>().await;
                    }
                    if manifests.read().await {
                        decided = None;
                    }
                }
            }
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
    held: Option<NodeSpec>,
    /// Problems that were logged.
    told: BTreeSet<Problem>,
}

impl Manifests {
    /// Reads the folder once it says the same twice; true when that is something new.
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
        self.folder.take(texts)
    }

    fn decide(&mut self, status: &NodeStatus) -> Decision {
        let facts = NodeFacts { name: &self.node, held: self.held.as_ref(), status };
        let decision = decide(&self.folder, facts);
        let found: BTreeSet<Problem> = decision.problems.iter().cloned().collect();
        for problem in found.difference(&self.told) {
            tracing::warn!(folder = %self.folder.path().display(), "{problem}");
        }
        if found.is_empty() && !self.told.is_empty() {
            tracing::info!(folder = %self.folder.path().display(), "all manifests can be used again");
        }
        self.told = found;
        self.held = Some(decision.spec.clone());
        decision
    }
}

/// A report as the controller would read it.
fn status(report: Report) -> NodeStatus {
    let never = Time(Timestamp::UNIX_EPOCH);
    parse::node_status(&report.into_status(&[], &never))
}
