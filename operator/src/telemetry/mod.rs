//! The endpoint for monitoring over HTTP: `/metrics` in the Prometheus text format, `/healthz` and
//! `/readyz`.
//!
//! Connections are accepted by the thread that does the work: a program that hangs does not respond
//! to `/healthz`, and Kubernetes restarts it.

use bytes::Bytes;
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
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// A connection is closed after this time: a scrape takes milliseconds, and clients that stay
/// connected must not use up [`CONNECTIONS`].
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent connections: a scraper, kubelet's probes and a user need fewer.
const CONNECTIONS: usize = 16;
/// The pause after a connection could not be accepted, mostly because file descriptors are
/// exhausted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address} for /metrics, /healthz and /readyz: set another address with --listen")]
pub struct Error {
    address: SocketAddr,
    source: io::Error,
}

/// Where a program listens; the same for all programs.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ListenOptions {
    /// The address that serves /metrics, /healthz and /readyz, such as [::]:8081; none if absent.
    #[arg(long, env = "USNET_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
}

/// What is served.
#[derive(Debug, Default)]
pub struct Telemetry {
    registry: Registry,
    is_ready: AtomicBool,
}

impl Telemetry {
    /// Where metrics are registered.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// From now on `/readyz` answers 200.
    pub fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// Serves indefinitely, if an address is given.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn serve(self: Arc<Self>, options: ListenOptions) -> Result<Infallible, Error> {
        let Some(address) = options.listen else { return std::future::pending().await };
        let listener = listen(address).await.map_err(|source| Error { address, source })?;
        let address = listener.local_addr().unwrap_or(address);
        tracing::info!(%address, "serving /metrics, /healthz and /readyz");
        let connection_permits = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let permit = Arc::clone(&connection_permits).acquire_owned().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    let telemetry = Arc::clone(&self);
                    tokio::spawn(async move {
                        let _permit = permit;
                        // A client that disconnects is not worth a log line.
                        let _ = timeout(CONNECTION_TIMEOUT, telemetry.serve_connection(stream)).await;
                    });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    async fn serve_connection(&self, stream: TcpStream) -> Result<(), hyper::Error> {
        let service = service_fn(|request: Request<Incoming>| async move {
            Ok::<_, Infallible>(self.answer(request.method(), request.uri().path()))
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
            .await
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if method != Method::GET && method != Method::HEAD {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n");
        }
        match path {
            "/healthz" => plain(StatusCode::OK, "ok\n"),
            "/readyz" if self.is_ready.load(Ordering::Relaxed) => plain(StatusCode::OK, "ok\n"),
            "/readyz" => plain(StatusCode::SERVICE_UNAVAILABLE, "not ready: the current state is still being read\n"),
            "/metrics" => self.metrics(),
            _ => plain(StatusCode::NOT_FOUND, "not found: only /metrics, /healthz and /readyz are served\n"),
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
