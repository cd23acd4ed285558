//! The services that kubelet calls: prepare, unprepare and health.

use super::api::services::d_r_a_plugin_server::DRAPlugin;
use super::api::services::d_r_a_resource_health_server::DRAResourceHealth;
use super::api::{
    DeviceHealth, NodePrepareResourceResponse, NodePrepareResourcesRequest, NodePrepareResourcesResponse,
    NodeUnprepareResourceResponse, NodeUnprepareResourcesRequest, NodeUnprepareResourcesResponse,
    NodeWatchResourcesRequest, NodeWatchResourcesResponse,
};
use super::preparer::Preparer;
use crate::display::ErrorChain;
use futures::stream::{self, BoxStream, StreamExt};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch::Receiver;
use tokio::time::timeout;
use tonic::{Request, Response, Status};

/// How often health is sent although nothing changed, and after how long without it kubelet takes
/// it for unknown.
const HEALTH_INTERVAL: Duration = Duration::from_secs(10);
const HEALTH_TIMEOUT_SECONDS: i64 = 60;

/// The driver, as kubelet calls it.
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
        let mut claims = HashMap::new();
        // In order: those of one pod share its names of interfaces.
        for claim in request.into_inner().claims {
            let answer = match self.preparer.prepare(&claim).await {
                Ok(devices) => NodePrepareResourceResponse { devices, error: String::new() },
                Err(error) => {
                    let error = ErrorChain(&error).to_string();
                    tracing::warn!(claim = %format_args!("{}/{}", claim.namespace, claim.name), error, "cannot prepare a resource claim; kubelet retries");
                    NodePrepareResourceResponse { devices: Vec::new(), error }
                }
            };
            claims.insert(claim.uid, answer);
        }
        Ok(Response::new(NodePrepareResourcesResponse { claims }))
    }

    async fn node_unprepare_resources(
        &self,
        request: Request<NodeUnprepareResourcesRequest>,
    ) -> Result<Response<NodeUnprepareResourcesResponse>, Status> {
        let mut claims = HashMap::new();
        for claim in request.into_inner().claims {
            let error = match self.preparer.unprepare(&claim).await {
                Ok(()) => String::new(),
                Err(error) => {
                    let error = ErrorChain(&error).to_string();
                    tracing::warn!(claim = %format_args!("{}/{}", claim.namespace, claim.name), error, "cannot unprepare a resource claim; kubelet retries");
                    error
                }
            };
            claims.insert(claim.uid, NodeUnprepareResourceResponse { error });
        }
        Ok(Response::new(NodeUnprepareResourcesResponse { claims }))
    }
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
