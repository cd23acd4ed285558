//! Reports collected garbage: one log line and one entry of the history for each item (IO).

use crate::history_file::{Cause, Change, HistoryFile, Outcome};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::paths::NodePaths;
use usnet_plugin::attachment::pod_directory::leftovers::Leftover;

/// After how many grace periods the same failure is reported again: the agent counts reports, and
/// what stays for long has to be told from what failed once.
const REPEAT_AFTER: u32 = 10;

#[derive(Debug)]
pub(super) struct Report {
    history: HistoryFile,
    /// The items that could not be removed, why, and when that was reported, so that a failure is
    /// not reported at each attempt.
    failures: BTreeMap<String, (String, Instant)>,
    /// After what time a failure is reported again.
    repeat_after: Duration,
    /// Why the file could not be written.
    problem: Option<String>,
}

impl Report {
    /// `grace` is the time between two attempts.
    pub(super) fn new(paths: &NodePaths, grace: Duration) -> Self {
        let history = HistoryFile::new(paths.garbage_file());
        let repeat_after = grace.saturating_mul(REPEAT_AFTER);
        Self { history, failures: BTreeMap::new(), repeat_after, problem: None }
    }

    /// Reports that an attachment was detached, or why not.
    pub(super) fn attachment(&mut self, record: &Record, result: Result<(), String>, took: Duration, now: Instant) {
        let change = Change {
            engine: Some(record.engine),
            network: Some(record.network.to_string()),
            attachment: Some(record.id.to_string()),
            ..change(format!("detach {} of pod {}", record.id.interface, record.pod), Cause::NamespaceGone, took)
        };
        self.item(change, result, now);
    }

    /// Reports that a leftover was removed, or why not.
    pub(super) fn leftover(&mut self, leftover: &Leftover, result: Result<(), String>, took: Duration, now: Instant) {
        self.item(change(format!("remove {leftover}"), Cause::NoAttachment, took), result, now);
    }

    fn item(&mut self, mut change: Change, result: Result<(), String>, now: Instant) {
        let (operation, attachment) = (change.operation.clone(), change.attachment.clone());
        let key = format!("{operation} {}", attachment.as_deref().unwrap_or_default());
        match result {
            Ok(()) => {
                let has_failed = self.failures.remove(&key).is_some();
                change.outcome = if has_failed { Outcome::CompletedLater } else { Outcome::Done };
                tracing::info!(network = change.network, attachment, cause = %change.cause, "garbage: {operation}");
            }
            Err(message) if self.is_reported(&key, &message, now) => return,
            Err(message) => {
                self.failures.insert(key, (message.clone(), now));
                tracing::warn!(
                    network = change.network,
                    attachment,
                    error = message,
                    "garbage: cannot {operation}; retrying"
                );
                change.outcome = Outcome::Failed { message };
            }
        }
        self.append(change);
    }

    fn is_reported(&self, key: &str, message: &str, now: Instant) -> bool {
        let reported = self.failures.get(key).filter(|(known, _)| known == message);
        reported.is_some_and(|(_, at)| now.saturating_duration_since(*at) < self.repeat_after)
    }

    fn append(&mut self, change: Change) {
        let problem = self.history.append(&[change]).err().map(|error| ErrorChain(&error).to_string());
        if let Some(text) = problem.as_ref().filter(|text| self.problem.as_ref() != Some(text)) {
            tracing::warn!(error = text, "cannot write the history of collected garbage");
        }
        self.problem = problem;
    }
}

fn change(operation: String, cause: Cause, took: Duration) -> Change {
    Change {
        time: MicroTime(Timestamp::now()),
        engine: None,
        network: None,
        attachment: None,
        operation,
        cause,
        generation: None,
        milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        outcome: Outcome::Done,
    }
}
