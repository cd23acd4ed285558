//! Writes the status of this node's `UserspaceNodeState`. It runs beside the reconcilers, so that
//! an API server that is slow or down never delays work on the node.

mod debounce;

use crate::attachments::Reported;
use crate::model::report::Report;
use crate::report::metrics::Metrics;
use crate::watch::StoredStatus;
use crate::watch::api_backoff::{retry_after, with_jitter};
use crate::watch::list_watch::Object;
use debounce::Debounce;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use std::future::pending;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};
use usnet_common::backoff::Backoff;
use usnet_common::display::ErrorChain;
use usnet_crds::UserspaceNodeState;
use usnet_crds::conditions::{NETWORKS_PROGRAMMED, READY, Status, find};
use usnet_crds::node_selection::resource_version;
use usnet_crds::node_state::UserspaceNodeStateStatus;

/// The field manager for server-side apply.
pub(crate) const FIELD_MANAGER: &str = "usnet-agent";
/// How long the API server may take to answer. It may still write the status afterwards; the next
/// write is the same or newer, and replaces it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// First delay after a failure: a write that was refused during a rollout of the API server
/// succeeds soon.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest delay: the controller waits for reports, and a longer one would delay users after an
/// outage.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Why a status was not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot update the status of UserspaceNodeState {node}")]
    Request { node: String, source: Box<kube::Error> },
    #[error("cannot update the status of UserspaceNodeState {node}: no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout { node: String },
}

impl Error {
    /// How long the API server asks to wait.
    fn retry_after(&self) -> Duration {
        match self {
            Self::Request { source, .. } => retry_after(source),
            Self::Timeout { .. } => Duration::ZERO,
        }
    }
}

/// What the status is computed from.
pub(crate) struct Sources {
    pub(crate) reports: watch::Receiver<Option<Report>>,
    pub(crate) attachments: watch::Receiver<Option<Reported>>,
    /// The current status in the API server.
    pub(crate) present: watch::Receiver<Option<StoredStatus>>,
}

/// Writes the newest report whenever it differs from the status that is `present` in the API
/// server, which is none while there is no object. Ends when the agent does.
pub(crate) async fn write(
    client: Client,
    node: String,
    Sources { mut reports, mut attachments, mut present }: Sources,
    metrics: Metrics,
) {
    let mut writer = Writer::new(client, node, metrics);
    let (mut debounce, mut awaited, mut is_woken_by_time) = (Debounce::default(), Awaited::default(), false);
    loop {
        let (due, now_awaited) = {
            let (report, present) = (reports.borrow_and_update(), present.borrow_and_update());
            let attachments = attachments.borrow_and_update();
            let awaited = Awaited {
                report: report.as_ref().filter(|_| present.is_some()).map(Report::awaited),
                pods: report.as_ref().filter(|_| present.is_some()).map(Report::pods),
                attachments: attachments.as_ref().map(Reported::awaited),
                attached: attachments.as_ref().map(Reported::attached),
                policy_pods: report.as_ref().filter(|_| present.is_some()).map(Report::policy_pods),
            };
            let due = writer.due(report.as_ref(), attachments.as_ref(), present.as_ref());
            debounce.recovers(writer.is_recovery(due.as_ref(), present.as_ref()), Instant::now());
            (due, awaited)
        };
        debounce.note(due.is_some(), &awaited, &now_awaited, is_woken_by_time);
        (awaited, is_woken_by_time) = (now_awaited, false);
        let at = debounce.due();
        let at = at.max(at.and(writer.not_before));
        match due.filter(|_| at.is_some_and(|at| at <= Instant::now())) {
            Some(status) => {
                debounce.written(Instant::now());
                // Read before the call: otherwise the lock of the channel would be held while the
                // watch, on the same thread, waits to send.
                let lists = present.borrow().as_ref().map_or(0, |present| present.lists);
                writer.write(&status, lists).await;
            }
            None => {
                let is_alive = tokio::select! {
                    change = reports.changed() => change.is_ok(),
                    change = attachments.changed() => change.is_ok(),
                    change = present.changed() => change.is_ok(),
                    () = until(at) => {
                        is_woken_by_time = true;
                        true
                    }
                };
                if !is_alive {
                    return;
                }
            }
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment.into()).await,
        None => pending().await,
    }
}

struct Writer {
    api: Api<Object<UserspaceNodeState>>,
    node: String,
    metrics: Metrics,
    backoff: Backoff,
    is_failing: bool,
    /// When the next request may be sent after one failed.
    not_before: Option<Instant>,
    /// The object as the last write left it, until the watch shows that or something newer.
    written: Option<StoredStatus>,
}

/// Hashes of what users wait for.
#[derive(Debug, Default, PartialEq)]
struct Awaited {
    report: Option<u64>,
    pods: Option<u64>,
    attachments: Option<u64>,
    attached: Option<u64>,
    policy_pods: Option<u64>,
}

impl Debounce {
    /// Notes what there is to write, and whether users wait for it.
    fn note(&mut self, is_due: bool, before: &Awaited, now: &Awaited, is_woken_by_time: bool) {
        if !is_due {
            return self.reverted();
        }
        if now.attached != before.attached || now.policy_pods != before.policy_pods {
            self.attached_changed(Instant::now());
        }
        if now.attachments != before.attachments {
            self.attachment_changed(Instant::now());
        }
        if now.pods != before.pods {
            self.pods_changed(Instant::now());
        }
        if now.report != before.report {
            self.changed(Instant::now());
        } else if now == before && !(is_woken_by_time && self.due().is_some()) {
            self.changed_deferrably(Instant::now());
        }
    }
}

impl Writer {
    fn new(client: Client, node: String, metrics: Metrics) -> Self {
        Self {
            api: Api::all(client),
            node,
            metrics,
            backoff: Backoff::new(FIRST_WAIT, LONGEST_WAIT),
            is_failing: false,
            not_before: None,
            written: None,
        }
    }

    /// Returns the status to write; none if the object has it already, or does not exist.
    fn due(
        &self,
        report: Option<&Report>,
        attachments: Option<&Reported>,
        present: Option<&StoredStatus>,
    ) -> Option<UserspaceNodeStateStatus> {
        // The spec of an earlier run of the agent says nothing about the API server's current
        // objects.
        let report = report.filter(|report| report.revision().is_none_or(|revision| revision > 0))?;
        let present = newest(present?, self.written.as_ref());
        let mut status = report.api_status(&present.status.conditions, &now());
        // Before all engines were looked at, pods are missing in the report, and the ports of those
        // that the controller does not find in the status are closed.
        if report.spec.is_none() {
            status.policy_pods.clone_from(&present.status.policy_pods);
        }
        // The attachments are known as soon as the node state is.
        let attachments = attachments?;
        status.attachments.clone_from(&attachments.attachments);
        status.observed_generation = status.observed_generation.min(Some(attachments.generation));
        (present.status != status).then_some(status)
    }

    /// Whether the node is ready, or has all its networks, according to this status, but not
    /// according to the object.
    fn is_recovery(&self, due: Option<&UserspaceNodeStateStatus>, present: Option<&StoredStatus>) -> bool {
        let (Some(due), Some(present)) = (due, present) else { return false };
        let present = &newest(present, self.written.as_ref()).status;
        let is = |status: &UserspaceNodeStateStatus, kind: &str, value: Status| {
            find(&status.conditions, kind).is_some_and(|condition| condition.status == value.as_str())
        };
        let recovers = |kind| is(due, kind, Status::True) && is(present, kind, Status::False);
        recovers(READY) || recovers(NETWORKS_PROGRAMMED)
    }

    async fn write(&mut self, status: &UserspaceNodeStateStatus, lists: u64) {
        let result = patch(&self.api, &self.node, status).await;
        self.metrics.status_write(result.is_ok());
        match result {
            Ok(version) => {
                self.backoff.reset();
                (self.is_failing, self.not_before) = (false, None);
                self.written = Some(StoredStatus { lists, version, status: status.clone() });
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(error = %ErrorChain(&error), "the status was not updated; retrying");
                }
                let wait = with_jitter(self.backoff.wait().max(error.retry_after()));
                self.not_before = Some(Instant::now() + wait);
            }
        }
    }
}

/// Returns the newest known status. The watch shows a write only some time after it.
fn newest<'a>(present: &'a StoredStatus, written: Option<&'a StoredStatus>) -> &'a StoredStatus {
    match written {
        Some(written) if written.lists == present.lists && written.version > present.version => written,
        _ => present,
    }
}

/// The current time in whole seconds, as Kubernetes stores it.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Writes the status; returns the resulting resourceVersion of the object.
async fn patch(
    api: &Api<Object<UserspaceNodeState>>,
    node: &str,
    status: &UserspaceNodeStateStatus,
) -> Result<u64, Error> {
    let body = json!({
        "apiVersion": UserspaceNodeState::api_version(&()),
        "kind": UserspaceNodeState::kind(&()),
        "metadata": {"name": node},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match timeout(REQUEST_TIMEOUT, api.patch_status(node, &parameters, &Patch::Apply(&body))).await {
        Ok(Ok(object)) => Ok(resource_version(object.metadata.resource_version.as_deref())),
        Ok(Err(source)) => Err(Error::Request { node: node.to_owned(), source: Box::new(source) }),
        Err(_) => Err(Error::Timeout { node: node.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
