//! The endpoints for monitoring: `/metrics` in the Prometheus text format, and `/healthz` and
//! `/readyz`, which have an address of their own and are served to every client. Metrics are served
//! to every client at an address of the loopback device alone: at any other there is TLS, and the
//! API server decides which token may read them ([`access`]). The traffic of pods is served on the
//! loopback device alone, as `/metrics/ports`.
//!
//! Probes of the manifests are answered at a unix socket of the container, which [`probe`] asks:
//! no other program can use it up, and it needs no port. A program whose address is taken does its
//! work without what would be served there, says so, and tries again.
//!
//! Connections are accepted by the thread that does the work: a program that hangs does not respond
//! to `/healthz`, and Kubernetes restarts it.

pub mod access;
pub mod certificate;
mod connections;
pub mod current_series;
pub mod options;
mod pace;
pub mod probe;
pub mod program;
mod server;

use access::reviewer::Reviewer;
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response, StatusCode};
pub use options::{ListenOptions, loopback};
use prometheus::{Encoder, Registry, TextEncoder};
pub use server::Error;
use server::{Clients, Served};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch::{Receiver, Sender};

/// The traffic of a node's pods, in the text format of Prometheus.
pub trait PortMetrics: std::fmt::Debug + Send + Sync + 'static {
    /// The metrics of all ports, or the reason for the client why there are none.
    fn text(&self) -> BoxFuture<'_, Result<Arc<str>, String>>;
}

#[derive(Debug, Default)]
pub struct Telemetry {
    registry: Registry,
    is_ready: AtomicBool,
    /// Problems that `/readyz` reports, one a line.
    problems: Mutex<Vec<String>>,
    /// The traffic of this node; none in a program other than the agent.
    ports: OnceLock<Box<dyn PortMetrics>>,
    /// What cannot be served now, and why.
    unserved: Sender<Unserved>,
}

/// What cannot be served now, and why.
pub type Unserved = BTreeMap<&'static str, String>;

impl Telemetry {
    /// The telemetry of a program, with the metrics that every program has.
    pub fn of_program() -> Result<Self, prometheus::Error> {
        let telemetry = Self::default();
        program::register(&telemetry.registry)?;
        Ok(telemetry)
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Makes `/readyz` answer 200.
    pub fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
    }

    /// Sets what `/readyz` reports: what is wrong although the program is ready, or why it is not
    /// ready yet.
    pub fn set_problems(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// Notifies of what cannot be served, whenever that changes.
    pub fn unserved(&self) -> Receiver<Unserved> {
        self.unserved.subscribe()
    }

    fn set_unserved(&self, what: &'static str, problem: Option<String>) {
        self.unserved.send_if_modified(|unserved| match problem {
            Some(problem) => unserved.insert(what, problem.clone()).as_ref() != Some(&problem),
            None => unserved.remove(what).is_some(),
        });
    }

    /// Sets what `/metrics/ports` answers.
    pub fn set_ports(&self, ports: impl PortMetrics) {
        // A program has one node.
        let _first = self.ports.set(Box::new(ports));
    }

    /// Serves at every configured address, indefinitely. The reviewer says who may read metrics at
    /// an address that others reach.
    ///
    /// An address that cannot be bound is tried again.
    ///
    /// # Errors When there is no certificate, or an address would show metrics to every client.
    pub async fn serve(
        self: Arc<Self>,
        options: ListenOptions,
        reviewer: Option<Arc<dyn Reviewer>>,
    ) -> Result<Infallible, Error> {
        let clients = Clients::of_metrics(&options, reviewer)?;
        let metrics = Arc::clone(&self).serve_at(options.listen_metrics, Served::Metrics, clients);
        let probes = Arc::clone(&self).serve_at(options.listen_probes, Served::Probes, Clients::All);
        let probe_socket = Arc::clone(&self).serve_probes_at(options.probe_socket);
        let ports = self.serve_at(options.listen_ports, Served::Ports, Clients::All);
        tokio::select! {
            never = metrics => match never {},
            never = probes => match never {},
            never = probe_socket => match never {},
            never = ports => match never {},
        }
    }

    async fn answer(&self, served: Served, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if method != Method::GET && method != Method::HEAD {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n");
        }
        match (served, path) {
            (Served::Ports, "/metrics/ports") => self.port_metrics().await,
            (Served::Probes | Served::Local, "/healthz") => plain(StatusCode::OK, "ok\n"),
            (Served::Probes | Served::Local, "/readyz") => self.readiness(),
            (Served::Metrics | Served::Local, "/metrics") => self.metrics(),
            _ => plain(StatusCode::NOT_FOUND, &format!("not found: only {} is served\n", served.paths())),
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
pub fn seconds_since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
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
