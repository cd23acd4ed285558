//! An HTTP server between one program and the API server, which injects faults and records the
//! requests. Requests are forwarded as the administrator, who impersonates the user of the program.

use bytes::Bytes;
use futures::StreamExt;
use futures::future::select;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::time::sleep;

type Error = Box<dyn std::error::Error + Send + Sync>;
type ProxyResponse = Response<UnsyncBoxBody<Bytes, Error>>;
type Plan = Box<dyn FnMut(&RecordedRequest) -> Option<Fault> + Send>;

/// A fault of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The request is executed, and the response is delayed.
    Delay(Duration),
    /// The request is not executed: "429 Too Many Requests", retry after a second.
    TooManyRequests,
    /// The request is executed, and the response is "504 Gateway Timeout".
    LoseResponse,
    /// A watch ends after this time.
    EndWatch(Duration),
    /// A watch starts with "410 Gone".
    Expire,
    /// The connection is closed without a response.
    Disconnect,
}

/// A request of the program.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) at: Instant,
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    query: String,
    pub(crate) is_watch: bool,
    /// A hash of the body.
    pub(crate) body: u64,
    /// The status of the API server's response; `None` without a response.
    pub(crate) result: Option<u16>,
}

impl RecordedRequest {
    pub(crate) fn is_lease(&self) -> bool {
        self.path.contains("/leases")
    }

    /// Whether the request is a list with one object, by which the program reads the resource
    /// version.
    pub(crate) fn is_probe(&self) -> bool {
        self.query.split('&').any(|pair| pair == "limit=1")
    }

    /// Whether the request is a write, except of the lease and of events.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET" && !self.is_lease() && !self.path.contains("/events")
    }

    pub(crate) fn is_executed(&self) -> bool {
        self.result.is_some_and(|code| code < 300)
    }
}

/// The server, which is stopped when this is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    client: Client,
    user: String,
    /// The node in the token of the program.
    node: Option<String>,
    plan: Mutex<Plan>,
    asked: Mutex<Vec<RecordedRequest>>,
    /// Ends all watches when it changes.
    watches: watch::Sender<()>,
}

impl Proxy {
    /// Starts a server for a program with this service account of usnet, on this node if it has
    /// one.
    pub(crate) fn start(account: &str, node: Option<&str>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (client, listener) = runtime.block_on(async {
            let mut config = Config::infer().await.unwrap();
            config.default_retry = false;
            (Client::try_from(config).unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap())
        });
        let shared = Arc::new(Shared {
            client,
            user: format!("system:serviceaccount:usnet-system:{account}"),
            node: node.map(ToOwned::to_owned),
            plan: Mutex::new(Box::new(|_| None)),
            asked: Mutex::default(),
            watches: watch::Sender::new(()),
        });
        let address = listener.local_addr().unwrap();
        runtime.spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, _runtime: runtime }
    }

    /// Sets the function that chooses the fault of each new request. Present watches continue.
    pub(crate) fn plan(&self, plan: impl FnMut(&RecordedRequest) -> Option<Fault> + Send + 'static) {
        *lock(&self.shared.plan) = Box::new(plan);
    }

    /// Ends all present watches.
    pub(crate) fn end_watches(&self) {
        self.shared.watches.send_replace(());
    }

    /// Returns all requests since a time, oldest first.
    pub(crate) fn requests_since(&self, time: Instant) -> Vec<RecordedRequest> {
        lock(&self.shared.asked).iter().filter(|asked| asked.at >= time).cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| respond(Arc::clone(&shared), request));
        // A fault that closes the connection is an error here.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Result<ProxyResponse, Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let asked = asked(&parts, &body);
    let fault = (*lock(&shared.plan))(&asked);
    let (number, is_watch) = {
        let mut all = lock(&shared.asked);
        all.push(asked.clone());
        (all.len() - 1, asked.is_watch)
    };
    match fault {
        Some(Fault::Disconnect) => return Err("disconnected by a fault".into()),
        Some(Fault::TooManyRequests) => return Ok(status(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")),
        Some(Fault::Expire) => return Ok(expired()),
        _ => (),
    }
    let answer = shared.client.send(shared.forwarded(&parts, body)?).await?;
    if let Some(asked) = lock(&shared.asked).get_mut(number) {
        asked.result = Some(answer.status().as_u16());
    }
    match fault {
        Some(Fault::Delay(time)) => sleep(time).await,
        Some(Fault::LoseResponse) => return Ok(status(StatusCode::GATEWAY_TIMEOUT, "Timeout")),
        _ => (),
    }
    if !is_watch {
        return Ok(answer.map(|body| body.map_err(Error::from).boxed_unsync()));
    }
    let limit = if let Some(Fault::EndWatch(limit)) = fault { limit } else { Duration::MAX };
    let mut ended = shared.watches.subscribe();
    let end = async move {
        select(pin!(ended.changed()), pin!(sleep(limit))).await;
    };
    let until = |body: Body| StreamBody::new(BodyStream::new(body.map_err(Error::from)).take_until(Box::pin(end)));
    Ok(answer.map(|body| until(body).boxed_unsync()))
}

fn asked(parts: &hyper::http::request::Parts, body: &Bytes) -> RecordedRequest {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    RecordedRequest {
        at: Instant::now(),
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        is_watch: parts.uri.query().is_some_and(|query| query.split('&').any(|pair| pair.starts_with("watch="))),
        body: hasher.finish(),
        result: None,
    }
}

impl Shared {
    /// Returns the request with the impersonation of the program's user.
    fn forwarded(&self, parts: &hyper::http::request::Parts, body: Bytes) -> Result<Request<Body>, Error> {
        let mut forwarded = Request::builder()
            .method(parts.method.clone())
            .uri(parts.uri.clone())
            .header("Impersonate-User", &self.user)
            .header("Impersonate-Group", "system:serviceaccounts")
            .header("Impersonate-Group", "system:serviceaccounts:usnet-system");
        if let Some(node) = &self.node {
            forwarded = forwarded.header("Impersonate-Extra-authentication.kubernetes.io%2fnode-name", node);
        }
        for name in [ACCEPT, CONTENT_TYPE] {
            if let Some(value) = parts.headers.get(&name) {
                forwarded = forwarded.header(name, value);
            }
        }
        Ok(forwarded.body(Body::from(body))?)
    }
}

/// Returns the status object of a failed request.
fn failure(code: StatusCode, reason: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "injected by a test", "reason": reason, "code": code.as_u16(),
    })
}

fn status(code: StatusCode, reason: &str) -> ProxyResponse {
    let mut answer = text(format!("{}\n", failure(code, reason)));
    *answer.status_mut() = code;
    if code == StatusCode::TOO_MANY_REQUESTS {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

/// Returns the response for a watch that has expired.
fn expired() -> ProxyResponse {
    text(format!("{}\n", json!({"type": "ERROR", "object": failure(StatusCode::GONE, "Expired")})))
}

fn text(text: String) -> ProxyResponse {
    let mut answer = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Runs `curl` with the proxy, and returns the status and the body of the response.
fn curl(proxy: &Proxy, arguments: &[&str], path: &str) -> Result<(String, String), String> {
    let url = format!("http://{}{path}", proxy.address);
    let usual = ["--silent", "--max-time", "20", "--write-out", "\n%{http_code}"];
    let text = crate::support::cluster::try_run("curl", &[&usual[..], arguments, &[&url]].concat(), "")?;
    let (answer, code) = text.rsplit_once('\n').ok_or("no code")?;
    Ok((code.to_owned(), answer.to_owned()))
}

#[test]
fn requests_are_forwarded_as_the_user_and_fail_as_planned() {
    const NETWORKS: &str = "/apis/usnet.dev/v1alpha1/compilednetworks";
    let watch = format!("{NETWORKS}?watch=1&timeoutSeconds=15");
    let start = Instant::now();
    let proxy = Proxy::start("usnet-agent", Some("node-a"));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let json = ["--header", "Content-Type: application/json", "--data", &review];
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = curl(&proxy, &json, path).unwrap();
    let is_agent = answer.contains("usnet-system:usnet-agent") && answer.contains("node-a");
    assert!(code == "201" && is_agent, "{code} {answer}");

    proxy.plan(|_| Some(Fault::TooManyRequests));
    assert_eq!(curl(&proxy, &[], NETWORKS).unwrap().0, "429");
    proxy.plan(|_| Some(Fault::LoseResponse));
    assert_eq!(curl(&proxy, &json, path).unwrap().0, "504");
    proxy.plan(|_| Some(Fault::Disconnect));
    curl(&proxy, &[], NETWORKS).unwrap_err();
    proxy.plan(|_| Some(Fault::Expire));
    assert!(curl(&proxy, &[], &watch).unwrap().1.contains("\"code\":410"));
    proxy.plan(|_| Some(Fault::Delay(Duration::from_secs(1))));
    let asked = Instant::now();
    curl(&proxy, &[], NETWORKS).unwrap();
    assert!(asked.elapsed() >= Duration::from_secs(1));
    proxy.plan(|_| Some(Fault::EndWatch(Duration::from_secs(1))));
    let asked = Instant::now();
    assert_eq!(curl(&proxy, &[], &watch).unwrap().0, "200");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());

    let all = proxy.requests_since(start);
    let results: Vec<_> = all.iter().map(|asked| (asked.is_watch, asked.result)).collect();
    let (ok, made) = (Some(200), Some(201));
    assert_eq!(
        results,
        [(false, made), (false, None), (false, made), (false, None), (true, None), (false, ok), (true, ok)]
    );
}
