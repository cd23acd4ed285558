//! The device plugin service of one resource.

use super::api::services::device_plugin_server::DevicePlugin;
use super::api::{
    AllocateRequest, AllocateResponse, ContainerAllocateRequest, ContainerAllocateResponse, DevicePluginOptions, Empty,
    ListAndWatchResponse, Mount, PreStartContainerRequest, PreStartContainerResponse, PreferredAllocationRequest,
    PreferredAllocationResponse,
};
use super::folder::DeviceFolders;
use super::resource::Resource;
use futures::stream::{self, BoxStream, StreamExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch::{self, Receiver};
use tonic::{Request, Response, Status};
use usnet_crds::device::{RESOURCE_PREFIX, folders_variable, resource_name};
use usnet_crds::{DeviceId, NetworkName};

/// The plugin of one resource.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub network: NetworkName,
    /// The current devices of the network.
    pub resource: Receiver<Resource>,
    /// The folders of devices, through which pods reach the engine.
    pub folders: DeviceFolders,
    /// Counts the open streams of [`list_and_watch`](DevicePlugin::list_and_watch): each holds a
    /// receiver.
    pub listeners: Arc<watch::Sender<()>>,
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    type ListAndWatchStream = BoxStream<'static, Result<ListAndWatchResponse, Status>>;

    async fn get_device_plugin_options(&self, _: Request<Empty>) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(DevicePluginOptions::default()))
    }

    async fn list_and_watch(&self, _: Request<Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let mut resource = self.resource.clone();
        resource.mark_changed();
        let states = stream::unfold((resource, self.listeners.subscribe()), |(mut resource, listener)| async move {
            resource.changed().await.ok()?;
            let devices = resource.borrow_and_update().list();
            Some((Ok(ListAndWatchResponse { devices }), (resource, listener)))
        });
        Ok(Response::new(states.boxed()))
    }

    async fn allocate(&self, request: Request<AllocateRequest>) -> Result<Response<AllocateResponse>, Status> {
        let requests = request.into_inner().container_requests;
        let mut container_responses = Vec::new();
        for request in &requests {
            container_responses.push(self.allocate_container(request).await?);
        }
        Ok(Response::new(AllocateResponse { container_responses }))
    }

    async fn get_preferred_allocation(
        &self,
        _: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        Err(Status::unimplemented("all devices are alike"))
    }

    async fn pre_start_container(
        &self,
        _: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        Err(Status::unimplemented("a device needs no start"))
    }
}

impl Service {
    /// Allocates devices, also of a network that cannot be used now: the runtime retries a failed
    /// ADD, whereas kubelet fails the pod permanently when an allocation fails.
    async fn allocate_container(
        &self,
        request: &ContainerAllocateRequest,
    ) -> Result<ContainerAllocateResponse, Status> {
        let resource = self.resource.borrow().clone();
        let ids = request.devices_ids.iter().map(|id| {
            let known = id.parse::<DeviceId>().ok().filter(|id| resource.devices.contains(id));
            known.ok_or_else(|| Status::not_found(format!("{} has no device {id:?}", resource_name(&self.network))))
        });
        let mut ids: Vec<DeviceId> = ids.collect::<Result<_, _>>()?;
        // Kubelet names devices in any order; Multus assigns them to interfaces in this order.
        ids.sort_by_key(ToString::to_string);
        let mut response = ContainerAllocateResponse::default();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        response.annotations.insert(format!("{RESOURCE_PREFIX}/{}", self.network), names.join(","));
        if resource.has_folders {
            let mut folders = Vec::new();
            for id in &ids {
                folders.push(self.prepare_folder(id).await?);
            }
            let paths: Vec<String> = folders.iter().map(|(_, path)| path.display().to_string()).collect();
            response.envs.insert(folders_variable(&self.network), paths.join(","));
            response.mounts = folders.into_iter().map(|(host, container)| mount(&host, &container)).collect();
        }
        tracing::info!(network = %self.network, devices = names.join(","), "allocated devices to a pod");
        Ok(response)
    }

    async fn prepare_folder(&self, id: &DeviceId) -> Result<(PathBuf, PathBuf), Status> {
        self.folders.prepare(id).await.map_err(|error| {
            tracing::warn!(device = %id, %error, "cannot create the folder of a device");
            Status::internal(format!(
                "cannot create the folder of device {id} in {}: {error}",
                self.folders.path().display()
            ))
        })
    }
}

fn mount(host: &Path, container: &Path) -> Mount {
    Mount { container_path: container.display().to_string(), host_path: host.display().to_string(), read_only: false }
}
