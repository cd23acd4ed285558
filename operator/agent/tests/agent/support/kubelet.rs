//! The parts of kubelet that a device plugin uses: a socket where plugins register, and a client
//! that keeps calling each of them.

use super::node::until;
use futures::StreamExt;
use hyper::client::conn::http2 as client;
use hyper::server::conn::http2 as server;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;
use tonic::{Request, Response, Status};
use usnet_agent::device_plugin::api::services::device_plugin_client::DevicePluginClient;
use usnet_agent::device_plugin::api::services::registration_server::{Registration, RegistrationServer};
use usnet_agent::device_plugin::api::{
    AllocateRequest, ContainerAllocateRequest, ContainerAllocateResponse, Empty, RegisterRequest,
};
use usnet_dataplane::paths::NodePaths;

/// What plugins have listed, by resource: each device with its health.
type Devices = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

#[derive(Clone)]
struct Registry {
    folder: PathBuf,
    devices: Devices,
    registered: Arc<Mutex<Vec<RegisterRequest>>>,
    refuses: bool,
}

#[tonic::async_trait]
impl Registration for Registry {
    /// Registers a plugin. Like kubelet, this calls the plugin before it answers.
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let request = request.into_inner();
        self.registered.lock().unwrap().push(request.clone());
        if self.refuses {
            return Err(Status::invalid_argument("not this one"));
        }
        let socket = self.folder.join(&request.endpoint);
        call(&socket, async |mut plugin| plugin.get_device_plugin_options(Empty {}).await).await?;
        let devices = Arc::clone(&self.devices);
        tokio::spawn(async move {
            let _ended = call(&socket, async |mut plugin| {
                let mut lists = plugin.list_and_watch(Empty {}).await?.into_inner();
                while let Some(Ok(list)) = lists.next().await {
                    let listed = list.devices.into_iter().map(|device| format!("{} {}", device.id, device.health));
                    devices.lock().unwrap().insert(request.resource_name.clone(), listed.collect());
                }
                devices.lock().unwrap().remove(&request.resource_name);
                Ok(())
            })
            .await;
        });
        Ok(Response::new(Empty {}))
    }
}

/// Calls the plugin behind a socket.
async fn call<T>(
    socket: &Path,
    ask: impl AsyncFnOnce(DevicePluginClient<Transport>) -> Result<T, Status>,
) -> Result<T, Status> {
    let stream = UnixStream::connect(socket).await.map_err(|error| Status::unavailable(error.to_string()))?;
    let handshake = client::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = handshake.map_err(|error| Status::unavailable(error.to_string()))?;
    let connection = tokio::spawn(connection);
    let answer = ask(DevicePluginClient::with_origin(Transport(sender), "http://localhost".parse().unwrap())).await;
    connection.abort();
    answer
}

/// A kubelet that ends when this is dropped, as after `kill -9`: its socket stays.
pub(crate) struct Kubelet {
    runtime: Runtime,
    registry: Registry,
}

impl Kubelet {
    /// Starts a kubelet, which removes all sockets in the folder and creates its own.
    pub(crate) fn start(paths: &NodePaths) -> Self {
        Self::start_with(paths, false)
    }

    /// Starts a kubelet that refuses every plugin.
    pub(crate) fn refusing(paths: &NodePaths) -> Self {
        Self::start_with(paths, true)
    }

    fn start_with(paths: &NodePaths, refuses: bool) -> Self {
        let folder = paths.kubelet_device_plugins();
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let registry =
            Registry { folder: folder.clone(), devices: Devices::default(), registered: Arc::default(), refuses };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(async { UnixListener::bind(folder.join("kubelet.sock")).unwrap() });
        let shared = registry.clone();
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(RegistrationServer::new(shared.clone()));
                let builder = server::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { runtime, registry }
    }

    /// The registrations so far.
    pub(crate) fn registered(&self) -> Vec<RegisterRequest> {
        self.registry.registered.lock().unwrap().clone()
    }

    /// Waits until the plugin of a network has these devices, with their health.
    #[track_caller]
    pub(crate) fn await_devices(&self, network: &str, devices: &[&str]) {
        let resource = format!("usnet.dev/{network}");
        let mut last = None;
        until(&format!("{resource} has {devices:?}"), || {
            last = self.registry.devices.lock().unwrap().get(&resource).cloned();
            last.as_ref().is_some_and(|last| last == devices).then_some(())
        });
    }

    /// Waits until there is no plugin of a network.
    pub(crate) fn await_none(&self, network: &str) {
        let resource = format!("usnet.dev/{network}");
        until("the plugin ends", || (!self.registry.devices.lock().unwrap().contains_key(&resource)).then_some(()));
    }

    /// Allocates devices to a container.
    pub(crate) fn allocate(&self, network: &str, devices: &[&str]) -> Result<ContainerAllocateResponse, Status> {
        let socket = self.registry.folder.join(format!("usnet-{network}.sock"));
        let devices_ids = devices.iter().map(|&device| device.to_owned()).collect();
        let request = AllocateRequest { container_requests: vec![ContainerAllocateRequest { devices_ids }] };
        let answer = call(&socket, async |mut plugin| plugin.allocate(request).await);
        self.runtime.block_on(answer).map(|answer| answer.into_inner().container_responses.remove(0))
    }
}

/// HTTP/2 over an existing connection.
struct Transport(client::SendRequest<tonic::body::Body>);

impl tower::Service<hyper::Request<tonic::body::Body>> for Transport {
    type Response = hyper::Response<hyper::body::Incoming>;
    type Error = hyper::Error;
    type Future = futures::future::BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: hyper::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
