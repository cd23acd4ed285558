//! Reports collected garbage: one log line and one entry of the history for each item (IO).

use crate::history_file::{Cause, Change, HistoryFile, Outcome};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::paths::NodePaths;
use usnet_plugin::attachment::pod_directory::leftovers::Leftover;

#[derive(Debug)]
pub(super) struct Report {
    history: HistoryFile,
    /// The items that could not be removed, and why, so that each failure is reported once.
    failures: BTreeMap<String, String>,
    /// Why the file could not be written.
    problem: Option<String>,
}

impl Report {
    pub(super) fn new(paths: &NodePaths) -> Self {
        Self { history: HistoryFile::new(paths.garbage_file()), failures: BTreeMap::new(), problem: None }
    }

    /// Reports that an attachment was detached, or why not.
    pub(super) fn attachment(&mut self, record: &Record, result: Result<(), String>, took: Duration) {
        let change = Change {
            engine: Some(record.engine),
            network: Some(record.network.to_string()),
            attachment: Some(record.id.to_string()),
            ..change(format!("detach {} of pod {}", record.id.interface, record.pod), Cause::NamespaceGone, took)
        };
        self.item(change, result);
    }

    /// Reports that a leftover was removed, or why not.
    pub(super) fn leftover(&mut self, leftover: &Leftover, result: Result<(), String>, took: Duration) {
        self.item(change(format!("remove {leftover}"), Cause::NoAttachment, took), result);
    }

    fn item(&mut self, mut change: Change, result: Result<(), String>) {
        let (operation, attachment) = (change.operation.clone(), change.attachment.clone());
        let key = format!("{operation} {}", attachment.as_deref().unwrap_or_default());
        match result {
            Ok(()) => {
                let has_failed = self.failures.remove(&key).is_some();
                change.outcome = if has_failed { Outcome::CompletedLater } else { Outcome::Done };
                tracing::info!(network = change.network, attachment, cause = %change.cause, "garbage: {operation}");
            }
            Err(message) if self.failures.get(&key) == Some(&message) => return,
            Err(message) => {
                self.failures.insert(key, message.clone());
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
