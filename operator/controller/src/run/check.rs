//! `usnet check-installation` (IO): whether all controllers and agents are ready, for `helm test`.
//! It has the service account of the controllers, which may read just these two objects.

use super::agents::DAEMON_SET;
use super::installation::DEPLOYMENT;
use crate::leader::REQUEST_TIMEOUT;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use kube::{Api, Client};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use usnet_common::api::client;
use usnet_common::api::error::message;

const INTERVAL: Duration = Duration::from_secs(1);

/// Options of `usnet check-installation`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// How many seconds controllers and agents may take to become ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub wait_seconds: u32,
}

/// Why the check failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    ApiServer(#[from] client::Error),
    #[error("{problem} after {seconds} s: kubectl get pods -o wide, and kubectl describe of those that are not ready")]
    NotReady { problem: String, seconds: u32 },
}

/// Waits until all are ready; returns how many.
///
/// # Errors
/// Some are not ready in time, or the API server does not answer.
pub async fn run(options: Options) -> Result<String, Error> {
    let client = client::client().await?;
    let end = Instant::now() + Duration::from_secs(options.wait_seconds.into());
    loop {
        match state(&client).await {
            Ok(text) => return Ok(text),
            Err(problem) if Instant::now() >= end => {
                return Err(Error::NotReady { problem, seconds: options.wait_seconds });
            }
            Err(_not_yet) => sleep(INTERVAL).await,
        }
    }
}

/// What is ready, or what is not.
async fn state(client: &Client) -> Result<String, String> {
    let deployment = get::<Deployment>(client, DEPLOYMENT).await?;
    let daemon_set = get::<DaemonSet>(client, DAEMON_SET).await?;
    let wanted = deployment.spec.and_then(|spec| spec.replicas).unwrap_or(1);
    let controllers = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let agents = daemon_set.status.unwrap_or_default();
    let (ready, desired) = (agents.number_ready, agents.desired_number_scheduled);
    let text = format!("{controllers} of {wanted} controllers and {ready} of {desired} agents are ready");
    if controllers >= wanted && ready >= desired && desired > 0 { Ok(text) } else { Err(text) }
}

async fn get<K>(client: &Client, name: &str) -> Result<K, String>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let objects: Api<K> = Api::default_namespaced(client.clone());
    let found = timeout(REQUEST_TIMEOUT, objects.get(name)).await;
    let found = found.map_err(|_elapsed| "the API server does not answer".to_owned())?;
    found.map_err(|error| format!("{name} cannot be read: {}", message(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// An API server with these numbers of ready controllers and agents.
    fn client(controllers: i32, agents: i32, desired: i32) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| async move {
            let object = if request.uri().path().ends_with("/deployments/usnet-controller") {
                let spec = json!({"replicas": 2, "selector": {}, "template": {}});
                json!({"metadata": {}, "spec": spec, "status": {"readyReplicas": controllers}})
            } else {
                json!({"metadata": {}, "status": {
                    "numberReady": agents, "desiredNumberScheduled": desired,
                    "currentNumberScheduled": desired, "numberMisscheduled": 0,
                }})
            };
            Ok::<_, tower::BoxError>(http::Response::new(kube::client::Body::from(object.to_string().into_bytes())))
        });
        Client::new(service, "usnet-system")
    }

    #[tokio::test]
    async fn all_controllers_and_agents_have_to_be_ready() {
        assert_eq!(state(&client(2, 3, 3)).await.unwrap(), "2 of 2 controllers and 3 of 3 agents are ready");
        for (controllers, agents, desired) in [(1, 3, 3), (2, 2, 3), (2, 0, 0)] {
            let problem = state(&client(controllers, agents, desired)).await.unwrap_err();
            assert!(problem.starts_with(&format!("{controllers} of 2 controllers and {agents} of")), "{problem}");
        }
    }
}
