//! The two sockets for kubelet: one for the services, and one in the folder that kubelet watches,
//! by which it finds the first. What kubelet says and does there is the [`Registration`].

use super::CHECK_INTERVAL;
use super::api::services::d_r_a_plugin_server::DRAPluginServer;
use super::api::services::d_r_a_resource_health_server::DRAResourceHealthServer;
use super::api::services::registration_server::{Registration as RegistrationService, RegistrationServer};
use super::api::{InfoRequest, PLUGIN_TYPE, PluginInfo, RegistrationStatus, RegistrationStatusResponse, VERSIONS};
use super::registration::Registration;
use super::service::Driver;
use crate::watch::file_identity::FileIdentity;
use crate::watch::folder_watch;
use futures::future::join_all;
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
use tokio::sync::watch::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
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

    /// Whether the folder is there in which kubelet looks for registrations. In the agent's
    /// container it is mounted by config/components/resource-claims.
    pub(super) fn has_folder(&self) -> bool {
        self.registration.parent().is_some_and(Path::is_dir)
    }
}

/// Serves both sockets until a file of theirs is removed or replaced: kubelet would not find them
/// any more.
pub(super) async fn serve(sockets: &Sockets, driver: Driver, registration: &Sender<Registration>) -> Result<(), Error> {
    // The services are served first: kubelet calls them as soon as it has seen the registration.
    let (services, services_file) = listen(&sockets.driver)?;
    let (registrations, registration_file) = listen(&sockets.registration)?;
    let registrar = Registrar { endpoint: sockets.driver.display().to_string(), registration: registration.clone() };
    tracing::info!(socket = %sockets.driver.display(), "serving resource claims");
    let files = [services_file, registration_file];
    tokio::select! {
        never = accept(services, |stream| serve_driver(stream, driver.clone(), Connection::new(registration))) => match never {},
        never = accept(registrations, |stream| serve_registration(stream, registrar.clone())) => match never {},
        () = until_lost(&files) => Ok(()),
    }
}

/// A socket's file, which is removed on drop.
struct SocketFile {
    path: PathBuf,
    identity: Option<FileIdentity>,
}

impl SocketFile {
    fn is_lost(&self) -> bool {
        FileIdentity::of(&self.path) != self.identity
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if !self.is_lost() {
            let _gone = fs::remove_file(&self.path);
        }
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
    Ok((listener, SocketFile { path: path.to_owned(), identity: FileIdentity::of(path) }))
}

/// Returns when one of the files is gone, or another one has its name.
async fn until_lost(files: &[SocketFile]) {
    let (changes, mut changed) = channel(());
    let folders = files.iter().filter_map(|file| file.path.parent());
    let follow =
        join_all(folders.map(|folder| folder_watch::follow(folder.to_owned(), folder_watch::CREATED, changes.clone())));
    let check = async {
        while !files.iter().any(SocketFile::is_lost) {
            let _elapsed = timeout(CHECK_INTERVAL, changed.changed()).await;
        }
    };
    tokio::select! {
        _ended = follow => {}
        () = check => {}
    }
}

/// A connection of kubelet to the services, which ends on drop.
struct Connection(Sender<Registration>);

impl Connection {
    fn new(registration: &Sender<Registration>) -> Self {
        registration.send_modify(Registration::connected);
        Self(registration.clone())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.send_modify(Registration::disconnected);
    }
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

async fn serve_driver(stream: UnixStream, driver: Driver, _connection: Connection) {
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

async fn serve_registration(stream: UnixStream, registrar: Registrar) {
    let connection = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(RegistrationServer::new(registrar)));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a registration connection of kubelet ended");
    }
}

/// Answers kubelet's questions about the registration, and keeps what it says.
#[derive(Debug, Clone)]
struct Registrar {
    endpoint: String,
    registration: Sender<Registration>,
}

#[tonic::async_trait]
impl RegistrationService for Registrar {
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
            self.registration.send_modify(Registration::registered);
        } else {
            // Kubelet tries again, after up to two minutes.
            let mut is_new = false;
            self.registration.send_modify(|registration| is_new = registration.refused(&status.error));
            if is_new {
                tracing::warn!(error = status.error, "kubelet did not register the driver of resource claims");
            }
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
    use super::super::registration::State;
    use super::*;
    use futures::StreamExt;
    use hyper::Uri;
    use hyper::client::conn::http2 as client;
    use std::sync::Arc;

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
        let (registration, mut states) = channel(Registration::default());
        let serving = tokio::spawn({
            let (sockets, registration) = (sockets.clone(), registration.clone());
            async move { serve(&sockets, driver, &registration).await }
        });
        let transport = |sender: Sender| {
            service_fn(move |request| {
                let mut sender = sender.clone();
                async move { sender.send_request(request).await }
            })
        };
        // As kubelet makes it of the path of the socket.
        let origin = Uri::from_static("http://%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fdra@usnet.dev-reg.sock");
        let mut registrar = RegistrationClient::with_origin(transport(connect(&sockets.registration).await), origin);
        let info = registrar.get_info(InfoRequest {}).await.unwrap().into_inner();
        assert_eq!((info.plugin_type.as_str(), info.name.as_str()), ("DRAPlugin", "usnet.dev"));
        assert_eq!(Path::new(&info.endpoint), sockets.driver);
        assert_eq!(registration.borrow().state(), State::Unregistered, "kubelet has only asked");
        let status = RegistrationStatus { plugin_registered: true, error: String::new() };
        registrar.notify_registration_status(status).await.unwrap();
        states.wait_for(|registration| registration.state() == State::Registered).await.unwrap();

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
        let mut health_states =
            watch.node_watch_resources(api::NodeWatchResourcesRequest {}).await.unwrap().into_inner();
        let first = health_states.next().await.unwrap().unwrap();
        let device = first.devices.first().unwrap();
        assert_eq!((device.health(), device.health_check_timeout_seconds > 0), (HealthStatus::Unhealthy, true));
        drop((plugin, watch, health_states));
        states.wait_for(|registration| registration.state() == State::KubeletGone).await.unwrap();

        fs::remove_file(&sockets.registration).unwrap();
        serving.await.unwrap().expect("it ends, to be started again, when its socket is gone");
    }
}
