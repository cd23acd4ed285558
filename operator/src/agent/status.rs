//! The API server as a listener: writes the status of this node's `UserspaceNodeState`. It runs beside the loop, so that an API server that is slow or away
//! never holds up work on the node.

use super::metrics::Metrics;
use super::retry::Backoff;
use super::spec::Report;
use crate::error_chain::ErrorChain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use usnet_crds::UserspaceNodeState;
use usnet_crds::node_state::UserspaceNodeStateStatus;

/// Who wrote the fields of the status, for server-side apply.
pub(super) const FIELD_MANAGER: &str = "usnet-agent";
/// Changes come in bursts when pods come and go; one write tells of a whole burst.
const GATHER: Duration = Duration::from_millis(200);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Why a status was not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server refused or did not get the status of UserspaceNodeState {node}")]
    Request { node: String, source: Box<kube::Error> },
    #[error("the API server did not answer within {} s about the status of UserspaceNodeState {node}", REQUEST_TIMEOUT.as_secs())]
    Timeout { node: String },
}

/// Writes the newest report whenever it differs from the status that is `present`, which is none while there is no object. Ends when the loop does.
pub(super) async fn write(
    client: Client,
    node: String,
    mut reports: watch::Receiver<Option<Report>>,
    mut present: watch::Receiver<Option<UserspaceNodeStateStatus>>,
    metrics: Metrics,
) {
    let api: Api<UserspaceNodeState> = Api::all(client);
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    let mut retry = None;
    let mut written = None;
    loop {
        let wait = async {
            match retry {
                Some(duration) => sleep(duration).await,
                None => pending().await,
            }
        };
        let alive = tokio::select! {
            change = reports.changed() => change.is_ok(),
            change = present.changed() => change.is_ok(),
            () = wait => true,
        };
        if !alive {
            return;
        }
        sleep(GATHER).await;
        let report = reports.borrow_and_update().clone();
        let due = {
            let present = present.borrow_and_update();
            report.zip(present.as_ref()).and_then(|(report, present)| due(report, present, written.as_deref()))
        };
        let Some(status) = due else {
            retry = None;
            continue;
        };
        let result = patch(&api, &node, &status).await;
        metrics.status_write(result.is_ok());
        match result {
            Ok(()) => {
                backoff.reset();
                retry = None;
                written = Some(status.conditions);
            }
            Err(error) => {
                if retry.is_none() {
                    tracing::warn!(error = %ErrorChain(&error), "the status was not written; trying again until it is");
                }
                retry = Some(backoff.wait());
            }
        }
    }
}

/// The status to write; none when the object has it already. What was `written` last knows best since when conditions hold: the object may not show it yet.
fn due(
    report: Report,
    present: &UserspaceNodeStateStatus,
    written: Option<&[Condition]>,
) -> Option<UserspaceNodeStateStatus> {
    let status = report.into_status(written.unwrap_or(&present.conditions), &now());
    (*present != status).then_some(status)
}

/// Kubernetes keeps whole seconds.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

async fn patch(api: &Api<UserspaceNodeState>, node: &str, status: &UserspaceNodeStateStatus) -> Result<(), Error> {
    let body = json!({
        "apiVersion": UserspaceNodeState::api_version(&()),
        "kind": UserspaceNodeState::kind(&()),
        "metadata": {"name": node},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match timeout(REQUEST_TIMEOUT, api.patch_status(node, &parameters, &Patch::Apply(&body))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(source)) => Err(Error::Request { node: node.to_owned(), source: Box::new(source) }),
        Err(_) => Err(Error::Timeout { node: node.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
