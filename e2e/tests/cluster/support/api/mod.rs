//! Requests to the API server without `kubectl`, for what tests do most often. Its start uses up to
//! a quarter of a second of a core, which was a third of the processor time of cluster tests.

mod command;
mod kinds;
mod logs;
mod metadata;
mod request;

pub(super) use command::{apply, perform};
pub(super) use kinds::path;
pub(crate) use request::ApiRequest;

use hyper::Request;
use hyper::header::{HeaderValue, USER_AGENT};
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};
use std::thread::sleep;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// The number of attempts: a connection that was open during a restart of the API server breaks
/// with the next request.
const ATTEMPTS: usize = 3;

/// The audit log shows by its start which requests are of a user's tool, and not of usnet.
const USER_AGENT_OF_TESTS: &str = "kubectl/cluster-tests";

static API_SERVER: LazyLock<(Runtime, Client)> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(client(None));
    (runtime, client)
});

/// Returns a client of the administrator, or of whom the token belongs to.
async fn client(token: Option<&str>) -> Client {
    let mut config = Config::infer().await.unwrap();
    config.headers.push((USER_AGENT, HeaderValue::from_static(USER_AGENT_OF_TESTS)));
    if let Some(token) = token {
        // The administrator's certificate would take precedence over the token.
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    }
    Client::try_from(config).unwrap()
}

/// Sends a request with a token and returns the answer.
fn send_with(token: &str, request: Request<Vec<u8>>) -> Result<Value, kube::Error> {
    static CLIENTS: Mutex<BTreeMap<String, Client>> = Mutex::new(BTreeMap::new());
    let (runtime, _) = &*API_SERVER;
    let mut clients = CLIENTS.lock().unwrap();
    let client = clients.entry(token.to_owned()).or_insert_with(|| runtime.block_on(client(Some(token)))).clone();
    drop(clients);
    runtime.block_on(client.request::<Value>(request))
}

/// Sends a request and returns the answer.
fn send(request: Request<Vec<u8>>) -> Result<Value, kube::Error> {
    let (runtime, client) = &*API_SERVER;
    runtime.block_on(client.request::<Value>(request))
}

/// Sends a request whose answer is a text.
fn send_for_text(request: Request<Vec<u8>>) -> Result<String, kube::Error> {
    let (runtime, client) = &*API_SERVER;
    runtime.block_on(client.request_text(request))
}

/// Whether the caller is a task, which must not wait for another one.
fn is_in_task() -> bool {
    Handle::try_current().is_ok()
}

/// Reads an object or a list; `None` if it does not exist.
fn get(path: &str) -> Result<Option<Value>, kube::Error> {
    match send(Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?) {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads an object or a list; `None` if it does not exist or is empty.
#[track_caller]
pub(super) fn read(path: &str) -> Option<Value> {
    let mut failed = None;
    for _ in 0..ATTEMPTS {
        match get(path) {
            Ok(found) => return found.filter(|found| found["items"].as_array().is_none_or(|items| !items.is_empty())),
            Err(error @ kube::Error::Api(_)) => panic!("GET {path}: {error}"),
            Err(error) => failed = Some(error),
        }
        sleep(Duration::from_millis(50));
    }
    panic!("GET {path}: {failed:?}");
}
