//! The two sockets at kubelet: one of the services, and one in the folder that kubelet watches, by
//! which it finds the first.

use super::api::services::d_r_a_plugin_server::DRAPluginServer;
use super::api::services::d_r_a_resource_health_server::DRAResourceHealthServer;
use super::api::services::registration_server::{Registration, RegistrationServer};
use super::api::{InfoRequest, PLUGIN_TYPE, PluginInfo, RegistrationStatus, RegistrationStatusResponse, VERSIONS};
use super::service::Driver;
use crate::api::device_api::DRIVER;
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
use usnet_dataplane::paths::NodePaths;

/// What the paths of health begin with.
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

/// Where the sockets are.
#[derive(Debug, Clone)]
pub(super) struct Sockets {
    /// Of the services.
    pub(super) driver: PathBuf,
    /// Of the registration. kubelet puts its path into the name of the host that it requests, with
    /// percent signs, which are valid there only before an `@`.
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
    // The services first: kubelet calls them as soon as it has seen the registration.
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

/// The registration.
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
#[path = "server_tests.rs"]
mod tests;
