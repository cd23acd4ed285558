//! The services that kubelet calls: prepare, unprepare and health.

use super::api::services::d_r_a_plugin_server::DRAPlugin;
use super::api::services::d_r_a_resource_health_server::DRAResourceHealth;
use super::api::{
    Claim, DeviceHealth, NodePrepareResourceResponse, NodePrepareResourcesRequest, NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse, NodeUnprepareResourcesRequest, NodeUnprepareResourcesResponse,
    NodeWatchResourcesRequest, NodeWatchResourcesResponse,
};
use super::preparer::Preparer;
use futures::stream::{self, BoxStream, StreamExt};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch::Receiver;
use tokio::time::timeout;
use tonic::{Request, Response, Status};
use usnet_common::display::ErrorChain;

/// How often health is sent although nothing changed.
const HEALTH_INTERVAL: Duration = Duration::from_secs(10);
/// After this time without an update kubelet takes the health for unknown.
const HEALTH_TIMEOUT_SECONDS: i64 = 60;

/// The services that kubelet calls.
#[derive(Clone)]
pub(super) struct Driver {
    pub(super) preparer: Arc<Preparer>,
    pub(super) health: Receiver<Vec<DeviceHealth>>,
}

#[tonic::async_trait]
impl DRAPlugin for Driver {
    async fn node_prepare_resources(
        &self,
        request: Request<NodePrepareResourcesRequest>,
    ) -> Result<Response<NodePrepareResourcesResponse>, Status> {
        let claims = run_to_completion(prepare(Arc::clone(&self.preparer), request.into_inner().claims)).await?;
        Ok(Response::new(NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<NodeUnprepareResourcesRequest>,
    ) -> Result<Response<NodeUnprepareResourcesResponse>, Status> {
        let claims = run_to_completion(unprepare(Arc::clone(&self.preparer), request.into_inner().claims)).await?;
        Ok(Response::new(NodeUnprepareResourcesResponse { claims }))
    }
}

/// Runs a call in a task of its own. The request is dropped when kubelet stops waiting for it; the
/// plugin continues then, and the claim has to count as in work until it is done.
async fn run_to_completion<T: Send + 'static>(call: impl Future<Output = T> + Send + 'static) -> Result<T, Status> {
    tokio::spawn(call).await.map_err(|error| Status::internal(error.to_string()))
}

async fn prepare(preparer: Arc<Preparer>, claims: Vec<Claim>) -> HashMap<String, NodePrepareResourceResponse> {
    let mut answers = HashMap::new();
    // One after the other: claims of one pod share its interface names.
    for claim in claims {
        let answer = match preparer.prepare(&claim).await {
            Ok(devices) => NodePrepareResourceResponse { devices, error: String::new() },
            Err(error) => {
                let error = ErrorChain(&error).to_string();
                tracing::warn!(claim = %format_args!("{}/{}", claim.namespace, claim.name), error, "cannot prepare a resource claim; kubelet retries");
                NodePrepareResourceResponse { devices: Vec::new(), error }
            }
        };
        answers.insert(claim.uid, answer);
    }
    answers
}

async fn unprepare(preparer: Arc<Preparer>, claims: Vec<Claim>) -> HashMap<String, NodeUnprepareResourceResponse> {
    let mut answers = HashMap::new();
    for claim in claims {
        let error = match preparer.unprepare(&claim).await {
            Ok(()) => String::new(),
            Err(error) => {
                let error = ErrorChain(&error).to_string();
                tracing::warn!(claim = %format_args!("{}/{}", claim.namespace, claim.name), error, "cannot unprepare a resource claim; kubelet retries");
                error
            }
        };
        answers.insert(claim.uid, NodeUnprepareResourceResponse { error });
    }
    answers
}

#[tonic::async_trait]
impl DRAResourceHealth for Driver {
    type NodeWatchResourcesStream = BoxStream<'static, Result<NodeWatchResourcesResponse, Status>>;

    async fn node_watch_resources(
        &self,
        _: Request<NodeWatchResourcesRequest>,
    ) -> Result<Response<Self::NodeWatchResourcesStream>, Status> {
        let mut health = self.health.clone();
        health.mark_changed();
        let states = stream::unfold(health, |mut health| async move {
            if let Ok(Err(_)) = timeout(HEALTH_INTERVAL, health.changed()).await {
                return None;
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let mut devices = health.borrow_and_update().clone();
            for device in &mut devices {
                device.last_updated_time = i64::try_from(now).unwrap_or_default();
                device.health_check_timeout_seconds = HEALTH_TIMEOUT_SECONDS;
            }
            Some((Ok(NodeWatchResourcesResponse { devices }), health))
        });
        Ok(Response::new(states.boxed()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::preparer::fake_node::node;
    use super::*;
    use tokio::sync::watch::channel;
    use usnet_dataplane::attachment::ClaimUid;

    #[tokio::test]
    async fn a_call_that_kubelet_gives_up_goes_on_run_to_completion() {
        let (_node, preparer) = node();
        let (preparer, uid) = (Arc::new(preparer), "c-1".parse::<ClaimUid>().unwrap());
        let driver = Driver { preparer: Arc::clone(&preparer), health: channel(Vec::new()).1 };
        let claims = vec![Claim { namespace: "default".into(), uid: "c-1".into(), name: "web-uplink-x7".into() }];
        let call = driver.node_prepare_resources(Request::new(NodePrepareResourcesRequest { claims }));
        // It is polled once: the plugin's ADD has begun.
        tokio::select! {
            biased;
            _ = call => panic!("it should wait for the plugin"),
            () = tokio::task::yield_now() => {}
        }
        assert!(preparer.busy.enter(&uid).is_none(), "the plugin still attaches");
        while preparer.busy.enter(&uid).is_none() {
            tokio::task::yield_now().await;
        }
        assert!(preparer.records.read(&uid).unwrap().unwrap().is_prepared());
    }
}
