//! The endpoint for monitoring over HTTP: `/metrics` in the Prometheus text format, `/healthz` and
//! `/readyz`. The two for probes can be served at an address of their own as well, which a
//! NetworkPolicy can leave to the kubelet. The traffic of pods is served on the loopback device
//! alone, as `/metrics/ports`: all pods of a cluster can read what is behind another address.
//!
//! Connections are accepted by the thread that does the work: a program that hangs does not respond
//! to `/healthz`, and Kubernetes restarts it.

mod connections;
pub(crate) mod current_series;
pub mod program;

use crate::ports::scrape::PortScrape;
use bytes::Bytes;
use connections::Connections;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus::{Encoder, Registry, TextEncoder};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// A connection is closed after this time: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to send its request. The clients are in the same cluster.
const HEADER_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after a connection could not be accepted, mostly because file descriptors are
/// exhausted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address} for {what}: set another address with {option}")]
pub struct Error {
    address: SocketAddr,
    what: &'static str,
    option: &'static str,
    source: io::Error,
}

/// Where a program listens; the same for all programs.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ListenOptions {
    /// The address that serves /metrics, /healthz and /readyz, such as [::]:8081; none if absent.
    #[arg(long, env = "USNET_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// The address that serves /healthz and /readyz alone, such as [::]:8082; none if absent.
    #[arg(long, env = "USNET_LISTEN_PROBES", value_name = "ADDRESS:PORT")]
    pub listen_probes: Option<SocketAddr>,
    /// The address that serves /metrics/ports; none if absent. Only the agent has ports.
    #[arg(skip)]
    pub listen_ports: Option<SocketAddr>,
}

/// An address that only programs of the same network namespace reach, for the options of a program.
///
/// # Errors
/// It is not one.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "must be an address and a port, such as 127.0.0.1:8083")?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("must be of the loopback device, such as 127.0.0.1:8083: any reader learns names and traffic of all pods"
        .to_owned())
}

/// What is served at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Everything,
    Probes,
    Ports,
}

impl Served {
    const fn paths(self) -> &'static str {
        match self {
            Self::Everything => "/metrics, /healthz and /readyz",
            Self::Probes => "/healthz and /readyz",
            Self::Ports => "/metrics/ports",
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::Everything => "--listen",
            Self::Probes => "--listen-probes",
            Self::Ports => "--listen-port-metrics",
        }
    }
}

/// What is served.
#[derive(Debug, Default)]
pub struct Telemetry {
    registry: Registry,
    is_ready: AtomicBool,
    /// What `/readyz` says besides, a line each.
    problems: Mutex<Vec<String>>,
    /// The traffic of this node; none in a program that has no node.
    ports: OnceLock<PortScrape>,
}

impl Telemetry {
    /// That of a program, with the metrics that each has.
    ///
    /// # Errors
    /// When a name is registered already, which is a bug in this program.
    pub fn of_program() -> Result<Self, prometheus::Error> {
        let telemetry = Self::default();
        program::register(&telemetry.registry)?;
        Ok(telemetry)
    }

    /// Where metrics are registered.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// From now on `/readyz` answers 200.
    pub fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// What is wrong although the program is ready, which `/readyz` says after its `ok`, or why it
    /// is not ready yet.
    pub fn set_problems(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// What `/metrics/ports` answers from now on.
    pub fn set_ports(&self, ports: PortScrape) {
        // A program has one node.
        let _first = self.ports.set(ports);
    }

    /// Serves indefinitely, if an address is given.
    ///
    /// # Errors
    /// When an address cannot be bound.
    pub async fn serve(self: Arc<Self>, options: ListenOptions) -> Result<Infallible, Error> {
        let everything = Arc::clone(&self).serve_at(options.listen, Served::Everything);
        let probes = Arc::clone(&self).serve_at(options.listen_probes, Served::Probes);
        let ports = self.serve_at(options.listen_ports, Served::Ports);
        tokio::try_join!(everything, probes, ports).map(|(never, ..)| never)
    }

    async fn serve_at(self: Arc<Self>, address: Option<SocketAddr>, served: Served) -> Result<Infallible, Error> {
        let Some(address) = address else { return std::future::pending().await };
        let (what, option) = (served.paths(), served.option());
        let listener = listen(address).await.map_err(|source| Error { address, what, option, source })?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, "serving {what}");
        let mut connections = Connections::default();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let telemetry = Arc::clone(&self);
                    let task = tokio::spawn(async move {
                        // A client that disconnects is not worth a log line.
                        let _ = timeout(CONNECTION_TIMEOUT, telemetry.serve_connection(stream, served)).await;
                    });
                    connections.add(peer.ip(), task.abort_handle());
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve_connection(&self, stream: TcpStream, served: Served) -> Result<(), hyper::Error> {
        let service = service_fn(|request: Request<Incoming>| async move {
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            Ok::<_, Infallible>(self.answer(served, &method, &path).await)
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
            .await
    }

    async fn answer(&self, served: Served, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if method != Method::GET && method != Method::HEAD {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n");
        }
        match (served, path) {
            (Served::Ports, "/metrics/ports") => self.port_metrics().await,
            (Served::Everything | Served::Probes, "/healthz") => plain(StatusCode::OK, "ok\n"),
            (Served::Everything | Served::Probes, "/readyz") => self.readiness(),
            (Served::Everything, "/metrics") => self.metrics(),
            _ => plain(StatusCode::NOT_FOUND, &format!("not found: only {} are served\n", served.paths())),
        }
    }

    fn readiness(&self) -> Response<Full<Bytes>> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
        match (self.is_ready.load(Ordering::Relaxed), problems.as_str()) {
            (true, "") => plain(StatusCode::OK, "ok\n"),
            (true, problems) => plain(StatusCode::OK, &format!("ok\n{problems}\n")),
            (false, "") => plain(StatusCode::SERVICE_UNAVAILABLE, "not ready: the current state is still being read\n"),
            (false, reasons) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("not ready: {reasons}\n")),
        }
    }

    async fn port_metrics(&self) -> Response<Full<Bytes>> {
        let Some(ports) = self.ports.get() else { return plain(StatusCode::NOT_FOUND, "this program has no ports\n") };
        match ports.text().await {
            Ok(text) => respond(StatusCode::OK, prometheus::TEXT_FORMAT, Bytes::copy_from_slice(text.as_bytes())),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
        }
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        let (encoder, mut text) = (TextEncoder::new(), Vec::new());
        match encoder.encode(&self.registry.gather(), &mut text) {
            Ok(()) => respond(StatusCode::OK, prometheus::TEXT_FORMAT, text.into()),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
        }
    }
}

/// The time, for metrics whose names end in `_timestamp_seconds`.
pub(crate) fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
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

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", Bytes::copy_from_slice(text.as_bytes()))
}

fn respond(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests;
