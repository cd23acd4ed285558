//! Writes the devices of prepared claims into their status (IO). Nothing waits for that. A claim's
//! record says whether it is written, so that each change is written once, also after a restart of
//! the agent.

use super::busy::Busy;
use super::reader::{self, Claims};
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::sleep;
use usnet_common::display::FirstFailure;
use usnet_dataplane::atomic_file;
use usnet_dataplane::claim_records::{ClaimRecord, ClaimRecords};

/// Delay between two attempts.
const RETRY: Duration = Duration::from_secs(10);

/// Why a status is not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the records of claims cannot be used")]
    Records(#[from] atomic_file::Error),
    #[error(transparent)]
    Write(#[from] reader::Error),
}

pub(super) struct Reporter {
    pub(super) records: ClaimRecords,
    pub(super) busy: Busy,
    pub(super) claims: Arc<dyn Claims>,
}

impl Reporter {
    /// Reports at each change, indefinitely.
    pub(super) async fn run(self, mut changes: Receiver<()>) -> Infallible {
        let mut failure = FirstFailure::default();
        loop {
            changes.mark_unchanged();
            let result = self.report_all().await;
            failure.log(&result, "cannot write the devices of a resource claim into its status; retrying");
            let is_complete = matches!(result, Ok(true));
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    pending::<()>().await;
                },
                () = sleep(RETRY), if !is_complete => {}
            }
        }
    }

    /// Reports all claims that are not reported yet; returns whether none is left. A claim that
    /// fails does not delay the others.
    pub(super) async fn report_all(&self) -> Result<bool, Error> {
        let (all, _unreadable) = self.records.all()?;
        let (mut is_complete, mut failed) = (true, None);
        for record in all.iter().filter(|record| record.is_prepared() && !record.is_reported) {
            match self.claims.report(record).await {
                // A deleted claim has no status any more.
                Ok(()) | Err(reader::Error::NotFound(_)) => is_complete &= self.mark(record)?,
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        failed.map_or(Ok(is_complete), |error| Err(error.into()))
    }

    /// Marks a record as reported; returns false if it has changed meanwhile, or its claim is in
    /// work.
    fn mark(&self, reported: &ClaimRecord) -> Result<bool, Error> {
        let Some(_entered) = self.busy.enter(&reported.uid) else { return Ok(false) };
        match self.records.read(&reported.uid)? {
            Some(current) if current == *reported => {
                self.records.write(&ClaimRecord { is_reported: true, ..current })?;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Ok(true),
        }
    }
}
