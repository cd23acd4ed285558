//! Handles the responses to requests: what is retried, read again or reported.

use super::leader_state::{LeaderState, Response};
use crate::cache::attachments::{FoundPod, ObjectName};
use crate::events::EventRecord;
use crate::leader::REQUEST_TIMEOUT;
use crate::watch::read;
use crate::write::request::{Done, Error, Outcome};
use crate::write::{Target, Write};
use futures::future::FutureExt;
use kube::Client;
use tokio::time::{Instant, sleep_until, timeout};
use usnet_common::api::error::{is_outcome_unknown, is_overload, retry_after};

impl LeaderState {
    /// Handles the outcome of a write; returns the events to report.
    pub(super) fn handle_outcome(&mut self, Outcome { write, result }: Outcome, writer: &Client) -> Vec<EventRecord> {
        let (now, target) = (Instant::now(), write.target());
        match result {
            Ok(done) => {
                self.limiter.succeeded();
                self.failures.remove(&target);
                let is_seen = match done {
                    Done::Written(version) => self.guards.succeeded(&target, version, now),
                    Done::Deleted => self.guards.succeeded(&target, 0, now),
                    // The cache is behind the API server. The object is read, because the same
                    // write would otherwise be sent again until the watch has caught up.
                    Done::NoOp => {
                        self.schedule_read(target.clone(), writer, now);
                        false
                    }
                };
                if is_seen {
                    self.evaluator.mark_target(target);
                }
                match &write {
                    Write::Compiled { network, .. } => self.evaluator.record_compile_result(network, None),
                    Write::Nad { key, .. } => self.evaluator.record_nad_result(key, None),
                    _ => {}
                }
                self.reported_conditions.transitions(&write)
            }
            Err(error) => {
                self.handle_failure(&write, target, &error, writer, now);
                Vec::new()
            }
        }
    }

    fn handle_failure(&mut self, write: &Write, target: Target, error: &Error, writer: &Client, now: Instant) {
        if !error.is_fenced() && self.failures.get(&target) != Some(&error.to_string()) {
            tracing::warn!("{error}; retrying");
            self.failures.insert(target.clone(), error.to_string());
        }
        let cause = error.cause();
        if cause.is_none_or(is_overload) {
            self.limiter.overloaded(now, cause.and_then(retry_after));
        }
        match write {
            Write::Compiled { network, .. } => {
                if let Some(message) = error.rejection() {
                    self.evaluator.record_compile_result(network, Some(message));
                }
            }
            Write::Nad { key, .. } => {
                if let Some(words) = error.refusal() {
                    self.evaluator.record_nad_result(key, Some(words));
                }
            }
            _ => {}
        }
        // The outcome is unknown, or the cached object is stale: it is read before anything is sent
        // again.
        let is_stale = matches!(cause, Some(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422));
        if cause.is_none_or(is_outcome_unknown) || is_stale {
            self.schedule_read(target, writer, now);
        } else {
            self.guards.failed(&target, now);
        }
    }

    /// Reads a pod that an attachment names. Not counted by the limiter: an object of a user leads
    /// to one request, and to further ones after a back-off.
    pub(super) fn read_pod(&mut self, pod: ObjectName, writer: &Client) {
        let (client, target) = (writer.clone(), Target::Pod(pod));
        self.guards.send(target.clone());
        let read = async move {
            let found = timeout(REQUEST_TIMEOUT, read(client, &target)).await;
            Response::Read(target, found.ok().and_then(Result::ok).map(Box::new))
        };
        self.reads.push(read.boxed());
    }

    /// A pod was read. One that is of no use is read again after a back-off; one that no attachment
    /// names any more is not.
    pub(super) fn handle_pod(&mut self, target: &Target, pod: Option<&FoundPod>, now: Instant) {
        if pod.is_none_or(FoundPod::is_usable) {
            self.guards.finished(target);
        } else {
            self.guards.failed(target, now);
        }
    }

    /// A pod could not be read: its turn comes again after a back-off.
    pub(super) fn postpone_pod(&mut self, pod: ObjectName, now: Instant) {
        self.guards.failed(&Target::Pod(pod.clone()), now);
        self.evaluator.read_again(pod);
    }

    /// Reads the object of a target after a back-off: its state is unknown.
    pub(super) fn schedule_read(&mut self, target: Target, writer: &Client, now: Instant) {
        let (client, at) = (writer.clone(), self.guards.mark_unknown(&target, now));
        let read = async move {
            sleep_until(at).await;
            let found = timeout(REQUEST_TIMEOUT, read(client, &target)).await;
            Response::Read(target, found.ok().and_then(Result::ok).map(Box::new))
        };
        self.reads.push(read.boxed());
    }
}
