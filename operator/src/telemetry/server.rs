//! Accepts connections and answers requests (IO).

use super::access::reviewer::Reviewer;
use super::access::{Access, Refusal};
use super::certificate::{self, Certificate};
use super::connections::Connections;
use super::{ListenOptions, Telemetry, plain};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
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

/// Why a program cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be bound.
    #[error("cannot listen at {address} for {what}: set another address with {option}")]
    Listen {
        /// Which address.
        address: SocketAddr,
        /// What would be served.
        what: &'static str,
        /// The option that sets it.
        option: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Every client would read the metrics.
    #[error(
        "metrics are not served at {0}: without an API server no client can be authenticated. Set an address of the loopback device, such as 127.0.0.1:8443, with --listen-metrics"
    )]
    NoApiServer(SocketAddr),
    /// There is no certificate.
    #[error(transparent)]
    Certificate(#[from] certificate::Error),
}

/// What is served at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    Metrics,
    Probes,
    Ports,
}

impl Served {
    pub(super) const fn paths(self) -> &'static str {
        match self {
            Self::Metrics => "/metrics",
            Self::Probes => "/healthz or /readyz",
            Self::Ports => "/metrics/ports",
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Metrics => "--listen-metrics",
            Self::Probes => "--listen-probes",
            Self::Ports => "--listen-port-metrics",
        }
    }
}

/// Who is served.
#[derive(Debug, Clone)]
pub(super) enum Clients {
    /// Every client that reaches the address, over HTTP.
    All,
    /// Those that the API server allows it, over TLS.
    Allowed(Arc<(Certificate, Access)>),
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
        Ok(Self::Allowed(Arc::new((certificate, Access::new(reviewer)))))
    }
}

impl Telemetry {
    pub(super) async fn serve_at(
        self: Arc<Self>,
        address: Option<SocketAddr>,
        served: Served,
        clients: Clients,
    ) -> Result<Infallible, Error> {
        let Some(address) = address else { return std::future::pending().await };
        let (what, option) = (served.paths(), served.option());
        let listener = listen(address).await.map_err(|source| Error::Listen { address, what, option, source })?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, "serving {what}");
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

    /// Serves one request of a peer.
    pub(super) async fn serve_client(&self, stream: TcpStream, peer: IpAddr, served: Served, clients: &Clients) {
        let Clients::Allowed(clients) = clients else { return self.serve_stream(stream, peer, served, None).await };
        let (certificate, access) = &**clients;
        let acceptor = TlsAcceptor::from(certificate.config(Instant::now()));
        if let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, acceptor.accept(stream)).await {
            self.serve_stream(stream, peer, served, Some(access)).await;
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

/// `[::]` also accepts IPv4. Where the kernel has no IPv6 it is replaced by 0.0.0.0.
async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        result => result,
    }
}
