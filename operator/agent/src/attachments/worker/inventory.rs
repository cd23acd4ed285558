//! What the node has of pods: their records in the journal, and their sandboxes (IO).

use super::super::plan::PodRecord;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::{PodUid, Record};
use usnet_dataplane::journal::{Error, Journal, Key};
use usnet_dataplane::network_namespace::presence;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::sandboxes::{Sandbox, Sandboxes};

/// How soon a pod without a known sandbox is read again, and what could not be read.
pub(super) const WAITING_INTERVAL: Duration = Duration::from_secs(1);
/// How often all records of the node are read, to find interfaces that are not requested. A node
/// may have ten thousand records of other callers.
pub(super) const SEARCH_INTERVAL: Duration = Duration::from_secs(30);

/// The state of one pod.
#[derive(Debug)]
pub(super) struct PodState {
    pub(super) records: Vec<PodRecord>,
    /// The sandbox that the plugin recorded.
    pub(super) sandbox: Option<Sandbox>,
}

/// Reads the state of pods.
pub(super) struct Inventory {
    journal: Journal,
    sandboxes: Sandboxes,
    /// When all records were read last; none before they could be read.
    searched: Option<Instant>,
    /// Why the journal could not be read.
    problem: Option<String>,
}

impl Inventory {
    pub(super) fn new(paths: &NodePaths, journal: Journal) -> Self {
        Self { journal, sandboxes: Sandboxes::new(paths), searched: None, problem: None }
    }

    /// Whether all records were read at least once, so that what is attached is known.
    pub(super) const fn is_known(&self) -> bool {
        self.searched.is_some()
    }

    /// Reads all records of the node if that is due; none if it is not, or fails.
    pub(super) fn search_if_due(&mut self, now: Instant) -> Option<Vec<Record>> {
        if self.searched.is_some_and(|at| now.saturating_duration_since(at) < SEARCH_INTERVAL) {
            return None;
        }
        match self.journal.records() {
            Ok(all) => {
                (self.searched, self.problem) = (Some(now), None);
                Some(all.records)
            }
            Err(error) => {
                self.log_once(&error);
                None
            }
        }
    }

    /// After which time all records are read again.
    pub(super) fn until_search(&self, now: Instant) -> Duration {
        let since = |at| now.saturating_duration_since(at);
        let left = self.searched.map(|at| SEARCH_INTERVAL.saturating_sub(since(at)));
        // Nothing is left if the search was due now and failed.
        left.filter(|left| !left.is_zero()).unwrap_or(WAITING_INTERVAL)
    }

    /// Reads the state of a pod; none if its records cannot be read. Records in `all`, those of the
    /// whole node, are taken from there instead of being read a second time.
    pub(super) fn read(&mut self, pod: &PodUid, all: Option<&mut RecordsByPod>) -> Option<PodState> {
        let records = match all {
            Some(all) => Ok(all.remove(pod).unwrap_or_default()),
            None => self.journal.find(Key::Pod(pod)).map(|found| found.records),
        };
        match records {
            Ok(records) => {
                let records = records.into_iter().map(|record| PodRecord { presence: presence(&record), record });
                // A sandbox that cannot be read is as good as none.
                Some(PodState { records: records.collect(), sandbox: self.sandboxes.read(pod).ok().flatten() })
            }
            Err(error) => {
                self.log_once(&error);
                None
            }
        }
    }

    fn log_once(&mut self, error: &Error) {
        let text = ErrorChain(error).to_string();
        if self.problem.as_ref() != Some(&text) {
            tracing::warn!(error = text, "cannot read the records of attached interfaces; retrying");
        }
        self.problem = Some(text);
    }
}

/// All records of the node, by the pod that they belong to.
pub(super) type RecordsByPod = BTreeMap<PodUid, Vec<Record>>;

pub(super) fn by_pod(records: Vec<Record>) -> RecordsByPod {
    let mut by_pod = RecordsByPod::new();
    for record in records {
        by_pod.entry(record.pod.uid.clone()).or_default().push(record);
    }
    by_pod
}
