//! Writes the pod annotations that programs for the Userspace CNI (Intel) read. Only attachments by
//! its NADs have such annotations.
//!
//! The plugin writes their content into its records and needs no access to the API server. This
//! task runs beside the reconcilers, so that an API server that is slow or down delays neither pods
//! nor work on the node. The agent may not read pods, but it may patch the status of those on its
//! node, and the response to a patch that changes nothing is the pod.

mod desired;
mod mapped_dir;
mod merge;
mod patch;
#[cfg(test)]
mod tests;

use crate::watch::folder_watch;
use desired::{DesiredAnnotations, desired_annotations};
use kube::Client;
use merge::changes;
use patch::{Answer, PodPatches};
use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_common::backoff::Backoff;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::PodUid;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::paths::NodePaths;

/// How long the first of several changes waits for the others: an ADD writes its record twice.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// First delay after a failure: a pod may be waiting for its annotation.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest delay, for an API server that is overloaded by restarting pods.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Keeps the annotations up to date, indefinitely.
pub(super) async fn run(client: Client, paths: &NodePaths, journal: Journal) {
    let (changed, mut changes) = watch::channel(());
    let watching = folder_watch::follow(paths.attachments(), folder_watch::WRITTEN, changed);
    let writing = async {
        let mut writer = AnnotationWriter { pods: PodPatches::new(client), written: BTreeMap::new() };
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
            sleep(DEBOUNCE).await;
            changes.mark_unchanged();
            if writer.reconcile(&journal, wait.is_none()).await {
                backoff.reset();
                wait = None;
            } else {
                wait = Some(backoff.wait());
            }
        }
    };
    tokio::join!(watching, writing);
}

/// Writes the annotations that are not up to date.
struct AnnotationWriter {
    pods: PodPatches,
    /// What was written to each pod. After a restart of the agent each pod is read once, and
    /// written only if something differs.
    written: BTreeMap<PodUid, DesiredAnnotations>,
}

impl AnnotationWriter {
    /// Updates the annotations of all pods; returns whether that succeeded. With `logs_errors` the
    /// first error is logged.
    async fn reconcile(&mut self, journal: &Journal, logs_errors: bool) -> bool {
        let records = match journal.records() {
            Ok(records) => records,
            // The reconcilers log this error.
            Err(_) => return false,
        };
        let mut all = desired_annotations(&records.records);
        if records.unreadable.is_empty() {
            let detached = self.written.iter().filter(|(uid, _)| !all.contains_key(*uid));
            let detached: Vec<_> = detached.map(|(uid, written)| (uid.clone(), written.without_elements())).collect();
            all.extend(detached);
        }
        let mut all_written = true;
        for (uid, pod) in all {
            if self.written.get(&uid) == Some(&pod) {
                continue;
            }
            if let Err(error) = self.update_pod(&uid, pod).await {
                if logs_errors && all_written {
                    tracing::warn!(error = %ErrorChain(&error), "the annotations of a pod were not updated; retrying");
                }
                all_written = false;
            }
        }
        all_written
    }

    async fn update_pod(&mut self, uid: &PodUid, desired: DesiredAnnotations) -> Result<(), patch::Error> {
        let before: BTreeSet<String> = self.written.get(uid).map(DesiredAnnotations::interfaces).unwrap_or_default();
        // A deleted pod needs nothing, and its uid is not reused.
        if let Answer::Pod(pod) = self.pods.get(&desired.pod).await? {
            let changes = changes(&pod, &desired, &before);
            if !changes.is_empty() {
                self.pods.annotate(&desired.pod, &changes).await?;
            }
        }
        if desired.elements.is_empty() {
            self.written.remove(uid);
        } else {
            self.written.insert(uid.clone(), desired);
        }
        Ok(())
    }
}
