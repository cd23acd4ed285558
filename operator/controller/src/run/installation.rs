//! When this installation of usnet was created (IO).

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client};
use std::time::Duration;
use tokio::time::sleep;
use usnet_common::api::error::message;
use usnet_common::backoff::Backoff;

/// The Deployment of the controllers, in their own namespace.
pub(super) const DEPLOYMENT: &str = "usnet-controller";
/// Right after an installation the API server may not know the role yet.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// Where the role is missing, one request a minute costs nothing.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// When the Deployment was created; none if it does not exist. This waits while the Deployment
/// cannot be read; deletions wait for pods in that time, as always.
pub(super) async fn created(client: Client) -> Option<Time> {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let mut backoff = Backoff::new(FIRST_RETRY, LONGEST_RETRY);
    loop {
        match deployments.get_metadata_opt(DEPLOYMENT).await {
            Ok(found) => return found.and_then(|found| found.metadata.creation_timestamp),
            Err(error) => {
                tracing::debug!(deployment = DEPLOYMENT, "cannot be read, trying again: {}", message(&error));
            }
        }
        sleep(backoff.wait()).await;
    }
}
