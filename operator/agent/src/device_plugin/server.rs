//! gRPC over a unix socket, as kubelet uses it: HTTP/2 without TLS. Tonic's own transport is not
//! used.

use super::api::RegisterRequest;
use super::api::services::device_plugin_server::DevicePluginServer;
use super::api::services::registration_client::RegistrationClient;
use super::service::Service;
use hyper::Uri;
use hyper::client::conn::http2 as client;
use hyper::server::conn::http2 as server;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::service_fn;

/// How long kubelet may take to answer a registration. It calls the plugin before it answers.
const REGISTRATION_TIME: Duration = Duration::from_secs(10);
/// Pause after a failed accept, as when no descriptors are left: an immediate retry would fail
/// again and use the whole CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why kubelet did not accept a registration.
#[derive(Debug, thiserror::Error)]
pub(super) enum RegistrationError {
    #[error(
        "kubelet cannot be reached at its device plugin socket: is kubelet running, and its folder of device plugins mounted?"
    )]
    Connect(#[source] io::Error),
    #[error("the HTTP/2 connection to kubelet's device plugin socket failed")]
    Protocol(#[source] hyper::Error),
    #[error("kubelet rejected the registration")]
    Refused(#[source] Box<tonic::Status>),
    #[error("kubelet did not answer the registration within {} s", REGISTRATION_TIME.as_secs())]
    Silent,
}

/// Serves a socket indefinitely. When this future is dropped, all connections are closed.
pub(super) async fn serve(listener: UnixListener, service: Service) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Frees connections that have ended.
        while connections.try_join_next().is_some() {}
        let service = TowerToHyperService::new(DevicePluginServer::new(service.clone()));
        let connection = server::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
        connections.spawn(connection);
    }
}

/// Registers a resource with kubelet.
pub(super) async fn register(kubelet: &Path, request: RegisterRequest) -> Result<(), RegistrationError> {
    timeout(REGISTRATION_TIME, send_registration(kubelet, request)).await.unwrap_or(Err(RegistrationError::Silent))
}

async fn send_registration(kubelet: &Path, request: RegisterRequest) -> Result<(), RegistrationError> {
    let stream = UnixStream::connect(kubelet).await.map_err(RegistrationError::Connect)?;
    let (sender, connection) =
        client::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(RegistrationError::Protocol)?;
    let transport = service_fn(move |request| {
        let mut sender = sender.clone();
        async move { sender.send_request(request).await }
    });
    // The host is never resolved; the protocol requires one.
    let mut client = RegistrationClient::with_origin(transport, Uri::from_static("http://localhost"));
    let answer =
        async { client.register(request).await.map_err(|status| RegistrationError::Refused(Box::new(status))) };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer.map(drop),
        ended = connection => match ended {
            Err(error) => Err(RegistrationError::Protocol(error)),
            Ok(()) => answer.await.map(drop),
        },
    }
}
