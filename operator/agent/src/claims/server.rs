//! The two sockets for kubelet: one for the services, and one in the folder that kubelet watches,
//! by which it finds the first.

use super::api::services::d_r_a_plugin_server::DRAPluginServer;
use super::api::services::d_r_a_resource_health_server::DRAResourceHealthServer;
use super::api::services::registration_server::{Registration, RegistrationServer};
use super::api::{InfoRequest, PLUGIN_TYPE, PluginInfo, RegistrationStatus, RegistrationStatusResponse, VERSIONS};
use super::service::Driver;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::{Request, Response, Status};
use tower::{ServiceExt, service_fn};
use usnet_common::api::device_api::DRIVER;
use usnet_dataplane::paths::NodePaths;

/// The prefix of paths of the health service.
const HEALTH: &str = "/v1alpha1.DRAResourceHealth/";
/// Pause after a failed accept, as when no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the sockets are not served.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen at {}: are kubelet's folders plugins and plugins_registry mounted (config/components/resource-claims)?",
    path.display()
)]
pub(super) struct Error {
    path: PathBuf,
    source: io::Error,
}

/// The paths of the sockets.
#[derive(Debug, Clone)]
pub(super) struct Sockets {
    /// The socket of the services.
    pub(super) driver: PathBuf,
    /// The socket of the registration. kubelet puts its path, with percent signs, into the host
    /// name of its requests. Percent signs are valid there only before an `@`, so that the name of
    /// the file begins with `dra@`.
    pub(super) registration: PathBuf,
}

impl Sockets {
    pub(super) fn new(paths: &NodePaths) -> Self {
        Self {
            driver: paths.kubelet_plugins().join(DRIVER).join("dra.sock"),
            registration: paths.kubelet_plugins_registry().join(format!("dra@{DRIVER}-reg.sock")),
        }
    }
}

/// Serves both sockets until it is dropped.
pub(super) async fn serve(sockets: &Sockets, driver: Driver) -> Result<Infallible, Error> {
    // The services are served first: kubelet calls them as soon as it has seen the registration.
    let (services, _services_file) = listen(&sockets.driver)?;
    let (registration, _registration_file) = listen(&sockets.registration)?;
    let endpoint = sockets.driver.display().to_string();
    tracing::info!(socket = %sockets.driver.display(), "serving resource claims");
    let (never, _) = tokio::join!(
        accept(services, |stream| serve_driver(stream, driver.clone())),
        accept(registration, |stream| serve_registration(stream, endpoint.clone())),
    );
    Ok(never)
}

/// A socket's file, which is removed on drop.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

fn listen(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let failed = |source| Error { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o750).create(folder).map_err(failed)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok((listener, SocketFile(path.to_owned())))
}

async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: UnixListener,
    serve: impl Fn(UnixStream) -> F,
) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(serve(stream))),
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_driver(stream: UnixStream, driver: Driver) {
    let (plugin, health) = (DRAPluginServer::new(driver.clone()), DRAResourceHealthServer::new(driver));
    let services = service_fn(move |request: hyper::Request<Incoming>| {
        let (plugin, health) = (plugin.clone(), health.clone());
        async move {
            if request.uri().path().starts_with(HEALTH) {
                health.oneshot(request).await
            } else {
                plugin.oneshot(request).await
            }
        }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(services));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of kubelet ended");
    }
}

async fn serve_registration(stream: UnixStream, endpoint: String) {
    let service = RegistrationServer::new(Registered { endpoint });
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a registration connection of kubelet ended");
    }
}

/// Answers kubelet's questions about the registration.
#[derive(Debug, Clone)]
struct Registered {
    endpoint: String,
}

#[tonic::async_trait]
impl Registration for Registered {
    async fn get_info(&self, _: Request<InfoRequest>) -> Result<Response<PluginInfo>, Status> {
        Ok(Response::new(PluginInfo {
            plugin_type: PLUGIN_TYPE.to_owned(),
            name: DRIVER.to_owned(),
            endpoint: self.endpoint.clone(),
            supported_versions: VERSIONS.map(str::to_owned).into(),
        }))
    }

    async fn notify_registration_status(
        &self,
        request: Request<RegistrationStatus>,
    ) -> Result<Response<RegistrationStatusResponse>, Status> {
        let status = request.into_inner();
        if status.plugin_registered {
            tracing::info!("kubelet has registered the driver of resource claims");
        } else {
            tracing::warn!(error = status.error, "kubelet did not register the driver of resource claims");
        }
        Ok(Response::new(RegistrationStatusResponse {}))
    }
}

#[cfg(test)]
mod tests {
    //! Calls the sockets as kubelet does.

    use super::super::api::services::d_r_a_plugin_client::DRAPluginClient;
    use super::super::api::services::d_r_a_resource_health_client::DRAResourceHealthClient;
    use super::super::api::services::registration_client::RegistrationClient;
    use super::super::api::{self, DeviceHealth, HealthStatus};
    use super::super::preparer::fake_node::node;
    use super::*;
    use futures::StreamExt;
    use hyper::Uri;
    use hyper::client::conn::http2 as client;
    use std::sync::Arc;
    use tokio::sync::watch::channel;

    type Sender = client::SendRequest<tonic::body::Body>;

    async fn connect(socket: &Path) -> Sender {
        let stream = loop {
            match UnixStream::connect(socket).await {
                Ok(stream) => break stream,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let (sender, connection) = client::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    #[tokio::test]
    async fn kubelet_registers_the_driver_prepares_and_watches_health() {
        let (node, preparer) = node();
        let sockets = Sockets::new(&node.paths);
        let unhealthy = DeviceHealth { health: HealthStatus::Unhealthy.into(), ..DeviceHealth::default() };
        let (_sender, health) = channel(vec![unhealthy]);
        let driver = Driver { preparer: Arc::new(preparer), health };
        let serving = tokio::spawn({
            let sockets = sockets.clone();
            async move { serve(&sockets, driver).await }
        });
        let transport = |sender: Sender| {
            service_fn(move |request| {
                let mut sender = sender.clone();
                async move { sender.send_request(request).await }
            })
        };
        // As kubelet makes it of the path of the socket.
        let origin = Uri::from_static("http://%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fdra@usnet.dev-reg.sock");
        let mut registration = RegistrationClient::with_origin(transport(connect(&sockets.registration).await), origin);
        let info = registration.get_info(InfoRequest {}).await.unwrap().into_inner();
        assert_eq!((info.plugin_type.as_str(), info.name.as_str()), ("DRAPlugin", "usnet.dev"));
        assert_eq!(Path::new(&info.endpoint), sockets.driver);

        let sender = connect(&sockets.driver).await;
        let origin = Uri::from_static("http://localhost");
        let mut plugin = DRAPluginClient::with_origin(transport(sender.clone()), origin.clone());
        let claims = vec![api::Claim { namespace: "default".into(), uid: "c-1".into(), name: "web-uplink-x7".into() }];
        let prepared = plugin.node_prepare_resources(api::NodePrepareResourcesRequest { claims: claims.clone() }).await;
        let prepared = prepared.unwrap().into_inner().claims.remove("c-1").unwrap();
        assert_eq!((prepared.devices.len(), prepared.error.as_str()), (1, ""));
        let done = plugin.node_unprepare_resources(api::NodeUnprepareResourcesRequest { claims }).await;
        assert_eq!(done.unwrap().into_inner().claims.remove("c-1").unwrap().error, "");

        let mut watch = DRAResourceHealthClient::with_origin(transport(sender), origin);
        let mut states = watch.node_watch_resources(api::NodeWatchResourcesRequest {}).await.unwrap().into_inner();
        let first = states.next().await.unwrap().unwrap();
        let device = first.devices.first().unwrap();
        assert_eq!((device.health(), device.health_check_timeout_seconds > 0), (HealthStatus::Unhealthy, true));
        serving.abort();
    }
}
