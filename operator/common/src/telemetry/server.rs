//! Accepts connections and answers requests (IO).

use super::access::reviewer::Reviewer;
use super::access::{Access, Refusal};
use super::certificate::{self, Certificate};
use super::connections::Connections;
use super::pace::Pace;
use super::{ListenOptions, Telemetry, plain};
use crate::display::{ErrorChain, FirstFailure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// A connection is closed after this time: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take for its part of TLS, and then to send its request. The clients are in
/// the same cluster.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after a connection could not be accepted, mostly because file descriptors are
/// exhausted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a request may be. Tokens are 1 to 2 KB.
const REQUEST_LIMIT: usize = 16 * 1024;

/// The interval of attempts to listen. Another program of the node may have the address; an agent
/// that ends releases the node before its address.
pub(super) const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// The address or file cannot be bound. The program works without what is served there.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen at {place} for {what}: does another program of the node listen there? Set another one with {option}"
)]
struct Unbound {
    place: String,
    what: &'static str,
    option: &'static str,
    source: io::Error,
}

/// Why a program cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Metrics would be served to every client.
    #[error(
        "metrics are not served at {0}: without an API server no client can be authenticated. Set an address of the loopback device, such as 127.0.0.1:8443, with --listen-metrics"
    )]
    NoApiServer(SocketAddr),
    #[error(transparent)]
    Certificate(#[from] certificate::Error),
}

/// What is served at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    Metrics,
    Probes,
    /// Probes and metrics, for programs of the same container.
    Local,
    Ports,
}

impl Served {
    pub(super) const fn paths(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::Probes => "/healthz or /readyz",
            Self::Local => "/healthz, /readyz or /metrics",
            Self::Ports => "/metrics/ports",
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Metrics => "--listen-metrics",
            Self::Probes => "--listen-probes",
            Self::Local => "--probe-socket",
            Self::Ports => "--listen-port-metrics",
        }
    }
}

/// Who is served.
#[derive(Debug, Clone)]
pub(super) enum Clients {
    /// Every client that reaches the address, over HTTP.
    All,
    /// Clients that the API server allows, over TLS.
    Allowed(Arc<Protection>),
}

/// What clients have to pass before they are served.
#[derive(Debug)]
pub(super) struct Protection {
    pace: Pace,
    certificate: Certificate,
    access: Access,
}

impl Clients {
    pub(super) fn of_metrics(options: &ListenOptions, reviewer: Option<Arc<dyn Reviewer>>) -> Result<Self, Error> {
        let Some(address) = options.listen_metrics.filter(|address| !address.ip().is_loopback()) else {
            return Ok(Self::All);
        };
        let reviewer = reviewer.ok_or(Error::NoApiServer(address))?;
        Self::allowed(options, reviewer)
    }

    pub(super) fn allowed(options: &ListenOptions, reviewer: Arc<dyn Reviewer>) -> Result<Self, Error> {
        let certificate = Certificate::new(options.certificate_files())?;
        let protection = Protection { pace: Pace::default(), certificate, access: Access::new(reviewer) };
        Ok(Self::Allowed(Arc::new(protection)))
    }
}

impl Telemetry {
    /// Serves at an address, as soon as it can be bound.
    pub(super) async fn serve_at(
        self: Arc<Self>,
        address: Option<SocketAddr>,
        served: Served,
        clients: Clients,
    ) -> Infallible {
        let Some(address) = address else { return std::future::pending().await };
        let listener = self.bound(served, served.option(), address, || listen(address)).await;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, "serving {}", served.paths());
        let mut connections = Connections::default();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let (telemetry, clients) = (Arc::clone(&self), clients.clone());
                    let task = tokio::spawn(async move {
                        let connection = telemetry.serve_client(stream, peer.ip(), served, &clients);
                        // A client that disconnects is not worth a log line.
                        let _ended = timeout(CONNECTION_TIMEOUT, connection).await;
                    });
                    connections.add(peer.ip(), task.abort_handle());
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Serves probes and metrics at a unix socket, which programs of the same container reach, and
    /// no others.
    pub(super) async fn serve_probes_at(self: Arc<Self>, socket: Option<PathBuf>) -> Infallible {
        let Some(socket) = socket else { return std::future::pending().await };
        let (served, local) = (Served::Local, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let listener = self.bound(served, served.option(), socket.display(), || listen_at(&socket)).await;
        tracing::info!(socket = %socket.display(), "serving {}", served.paths());
        let mut connections = Connections::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let telemetry = Arc::clone(&self);
                    let task = tokio::spawn(async move {
                        let connection = telemetry.serve_stream(stream, local, served, None);
                        let _ended = timeout(CONNECTION_TIMEOUT, connection).await;
                    });
                    connections.add(local, task.abort_handle());
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Listens as soon as that is possible, and reports meanwhile that it is not.
    async fn bound<T, F: Future<Output = io::Result<T>>>(
        &self,
        served: Served,
        option: &'static str,
        place: impl Display,
        bind: impl Fn() -> F,
    ) -> T {
        let mut failure = FirstFailure::default();
        loop {
            let unbound = |source| Unbound { place: place.to_string(), what: served.paths(), option, source };
            let result = bind().await.map_err(unbound);
            failure.log(&result, "going on without it, and trying again");
            let problem = result.as_ref().err().map(|error| ErrorChain(error).to_string());
            self.set_unserved(served.paths(), problem);
            match result {
                Ok(listener) => return listener,
                Err(_) => sleep(LISTEN_RETRY).await,
            }
        }
    }

    /// Serves one request of a peer.
    pub(super) async fn serve_client(&self, stream: TcpStream, peer: IpAddr, served: Served, clients: &Clients) {
        let Clients::Allowed(protection) = clients else { return self.serve_stream(stream, peer, served, None).await };
        protection.pace.turn().await;
        let acceptor = TlsAcceptor::from(protection.certificate.config(Instant::now()));
        if let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, acceptor.accept(stream)).await {
            self.serve_stream(stream, peer, served, Some(&protection.access)).await;
        }
    }

    async fn serve_stream(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: IpAddr,
        served: Served,
        access: Option<&Access>,
    ) {
        let service = service_fn(|request: Request<Incoming>| async move {
            if let Some(access) = access
                && let Err(refusal) = access.check(peer, request.headers(), served.paths()).await
            {
                return Ok::<_, Infallible>(refused(refusal));
            }
            Ok(self.answer(served, request.method(), request.uri().path()).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(REQUEST_LIMIT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        let _disconnected = connection.await;
    }
}

fn refused(refusal: Refusal) -> Response<Full<Bytes>> {
    let mut response = plain(refusal.status(), refusal.message());
    if refusal == Refusal::Unauthorized {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The file of an earlier run of the container is replaced.
async fn listen_at(socket: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => UnixListener::bind(socket),
    }
}

/// `[::]` also accepts IPv4. It is replaced by 0.0.0.0 where the kernel has no IPv6.
async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        result => result,
    }
}
