//! The pods of this node as listeners: keeps the annotations that programs for the older userspace CNI read. Only attachments by definitions
//! of its form have any.
//!
//! The plugin writes what to tell into its records and needs no way to the API server; this runs beside the lanes, so that an API server that
//! is slow or away holds up neither pods nor work on the node. The agent may not read pods. It may patch the status of those on its node, and
//! the answer to a patch that changes nothing is the pod.

mod mapped_dir;
mod merge;
mod patch;
#[cfg(test)]
mod tests;
mod wanted;

use super::folder_watch;
use crate::backoff::Backoff;
use crate::error_chain::ErrorChain;
use kube::Client;
use merge::changes;
use patch::{Answer, PodPatches};
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_dataplane::attachment::PodUid;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;
use wanted::{Wanted, wanted};

/// Records come in bursts: each is written twice in an ADD.
const GATHER: Duration = Duration::from_millis(100);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Keeps the annotations, for ever.
pub(super) async fn keep(client: Client, roots: &NodePaths, journal: Journal) {
    let (changed, mut changes) = watch::channel(());
    let watching = folder_watch::follow(roots.attachments(), folder_watch::RENAMED, changed);
    let keeping = async {
        let mut keeper = Keeper { pods: PodPatches::new(client), written: BTreeMap::new() };
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut wait = None;
        loop {
            let retry = async {
                match wait {
                    Some(duration) => sleep(duration).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                change = changes.changed() => if change.is_err() { return },
                () = retry => {}
            }
            sleep(GATHER).await;
            changes.mark_unchanged();
            if keeper.pass(&journal, wait.is_none()).await {
                backoff.reset();
                wait = None;
            } else {
                wait = Some(backoff.wait());
            }
        }
    };
    tokio::join!(watching, keeping);
}

/// What is known of the pods.
struct Keeper {
    pods: PodPatches,
    /// What each pod has by now. After a restart nothing is known: each pod is looked at once, and written only if it lacks something.
    written: BTreeMap<PodUid, Wanted>,
}

impl Keeper {
    /// Brings the annotations of all pods up to date and says whether that worked. Why not is told once, when it `is_news`.
    async fn pass(&mut self, journal: &Journal, is_news: bool) -> bool {
        let records = match journal.records() {
            Ok(records) => records,
            // The lanes tell of it.
            Err(_) => return false,
        };
        let mut all = wanted(&records.records);
        if records.unreadable.is_empty() {
            let gone = self.written.iter().filter(|(uid, _)| !all.contains_key(*uid));
            let gone: Vec<_> = gone.map(|(uid, written)| (uid.clone(), written.without_elements())).collect();
            all.extend(gone);
        }
        let mut has_worked = true;
        for (uid, pod) in all {
            if self.written.get(&uid) == Some(&pod) {
                continue;
            }
            if let Err(error) = self.bring_up_to_date(&uid, pod).await {
                if is_news && has_worked {
                    tracing::warn!(error = %ErrorChain(&error), "the annotations of a pod were not written; trying again until they are");
                }
                has_worked = false;
            }
        }
        has_worked
    }

    async fn bring_up_to_date(&mut self, uid: &PodUid, wanted: Wanted) -> Result<(), patch::Error> {
        let before: BTreeSet<String> = self.written.get(uid).map(Wanted::interfaces).unwrap_or_default();
        // A pod that is gone needs nothing, and will not come back with this uid.
        if let Answer::Pod(pod) = self.pods.look(&wanted.pod).await? {
            let changes = changes(&pod, &wanted, &before);
            if !changes.is_empty() {
                self.pods.annotate(&wanted.pod, &changes).await?;
            }
        }
        if wanted.elements.is_empty() {
            self.written.remove(uid);
        } else {
            self.written.insert(uid.clone(), wanted);
        }
        Ok(())
    }
}
