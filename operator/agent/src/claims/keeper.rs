//! Keeps the files of prepared claims complete (IO), also after a restart of the agent, and adds
//! what the plugin attached with the pod's sandbox.

use super::busy::Busy;
use super::offered::Offered;
use super::sandbox::with_attached;
use super::{CHECK_INTERVAL, files};
use crate::watch::folder_watch;
use std::convert::Infallible;
use std::fs::DirBuilder;
use std::future::pending;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};
use usnet_common::display::ErrorChain;
use usnet_dataplane::atomic_file;
use usnet_dataplane::claim_records::{ClaimRecord, ClaimRecords};
use usnet_dataplane::journal::{self, Journal, Key};
use usnet_dataplane::paths::NodePaths;

/// How long the first of several changes waits for the others: pods often start together, and each
/// check reads the records of all claims.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// Why the files of a claim could not be checked.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the record of the claim cannot be used")]
    Record(#[from] atomic_file::Error),
    #[error("the attachment records cannot be used")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Files(#[from] files::Error),
}

pub(super) struct Keeper {
    pub(super) paths: NodePaths,
    pub(super) records: ClaimRecords,
    pub(super) journal: Journal,
    pub(super) busy: Busy,
    /// Wakes the reporter.
    pub(super) reports: Sender<()>,
}

impl Keeper {
    /// Checks the claims at events of the CDI folder and of the attachment records, indefinitely.
    /// It begins once a network has resource claims or a claim is prepared.
    pub(super) async fn run(self, mut attachments: Receiver<()>, mut offered: Receiver<Vec<Offered>>) -> Infallible {
        while offered.borrow_and_update().is_empty() && self.records.is_empty() {
            if offered.changed().await.is_err() {
                pending::<()>().await;
            }
        }
        // Container runtimes that do not run as root read the folder too.
        let _exists = DirBuilder::new().recursive(true).mode(0o755).create(&self.paths.cdi);
        let (changes, mut files) = channel(());
        let follow = folder_watch::follow(self.paths.cdi.clone(), folder_watch::RENAMED, changes);
        let keep = async {
            loop {
                files.mark_unchanged();
                attachments.mark_unchanged();
                self.check_all();
                let change = async {
                    tokio::select! {
                        _changed = files.changed() => {}
                        Ok(()) = attachments.changed() => {}
                    }
                };
                let _elapsed = timeout(CHECK_INTERVAL, change).await;
                sleep(DEBOUNCE).await;
            }
        };
        tokio::select! {
            () = follow => pending().await,
            never = keep => never,
        }
    }

    fn check_all(&self) {
        let all = match self.records.all() {
            Ok((all, _unreadable)) => all,
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot list the records of resource claims; retrying");
                return;
            }
        };
        for record in all.into_iter().filter(ClaimRecord::is_prepared) {
            // The preparer is writing or removing the files of a claim that is in work.
            let Some(_entered) = self.busy.enter(&record.uid) else { continue };
            let claim = format!("{}/{}", record.namespace, record.name);
            if let Err(error) = self.check(&record, &claim) {
                tracing::warn!(claim, error = %ErrorChain(&error), "cannot keep the files of a resource claim; retrying");
            }
        }
    }

    fn check(&self, listed: &ClaimRecord, claim: &str) -> Result<(), Error> {
        // The claim was unprepared since it was listed.
        if self.records.read(&listed.uid)?.as_ref() != Some(listed) {
            return Ok(());
        }
        let attached = match listed.ports.iter().any(|port| port.is_with_sandbox) {
            true => with_attached(listed, &self.journal.find(Key::Pod(&listed.pod.uid))?),
            false => None,
        };
        if let Some(record) = attached {
            // The record is written last: if the agent is killed before, all of this is repeated.
            files::write(&self.paths, &record)?;
            self.records.write(&record)?;
            tracing::info!(claim, pod = %record.pod, "the ports of a resource claim changed with the sandbox");
            self.reports.send_replace(());
        } else if files::restore(&self.paths, listed)? {
            tracing::info!(claim, "wrote the missing files of a resource claim again");
        }
        Ok(())
    }
}
