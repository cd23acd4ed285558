//! How many nodes should have an agent (IO): the DaemonSet of the agents knows, and the nodes of
//! the cluster do not, because agents may be meant for some of them alone.

use super::metrics::Metrics;
use crate::leader::REQUEST_TIMEOUT;
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::{Api, Client};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use usnet_common::api::error::message;

/// The DaemonSet of the agents, in the namespace of the controllers.
pub(super) const DAEMON_SET: &str = "usnet-agent";
/// Alerts wait for minutes; a request takes the API server less than a millisecond.
const INTERVAL: Duration = Duration::from_secs(10);

/// Exports the number indefinitely. Without an answer there is none: an old one could hide nodes
/// that were added since.
pub(super) async fn count(client: Client, metrics: &Metrics) -> Infallible {
    let daemon_sets: Api<DaemonSet> = Api::default_namespaced(client);
    loop {
        let desired = match timeout(REQUEST_TIMEOUT, daemon_sets.get(DAEMON_SET)).await {
            Ok(Ok(found)) => found.status.map(|status| status.desired_number_scheduled),
            Ok(Err(error)) => {
                tracing::debug!(daemon_set = DAEMON_SET, "cannot be read, trying again: {}", message(&error));
                None
            }
            Err(_elapsed) => None,
        };
        metrics.desired_agents(desired);
        sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Registry, TextEncoder};
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// An API server with a DaemonSet for three nodes, until `fails`.
    fn client(fails: Arc<AtomicBool>) -> Client {
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let fails = fails.load(Ordering::Relaxed);
            async move {
                assert_eq!(request.uri().path(), "/apis/apps/v1/namespaces/usnet-system/daemonsets/usnet-agent");
                if fails {
                    return Err::<_, tower::BoxError>("no API server".into());
                }
                let object = json!({"metadata": {"name": "usnet-agent"}, "status": {
                    "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": 2,
                }});
                Ok(http::Response::new(kube::client::Body::from(object.to_string().into_bytes())))
            }
        });
        Client::new(service, "usnet-system")
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_is_exported_as_long_as_it_is_known() {
        let registry = Registry::new();
        let metrics = Metrics::register(&registry).unwrap();
        let fails = Arc::new(AtomicBool::new(false));
        let exported = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let pass = async |metrics: &Metrics| {
            let _runs_on = timeout(INTERVAL / 2, count(client(Arc::clone(&fails)), metrics)).await;
        };
        pass(&metrics).await;
        assert!(exported().contains("\nusnet_controller_desired_agents 3\n"), "{}", exported());
        fails.store(true, Ordering::Relaxed);
        pass(&metrics).await;
        assert!(!exported().contains("usnet_controller_desired_agents"), "{}", exported());
    }
}
