//! Runs programs in the containers of usnet, with the permissions of the user, who needs `create`
//! of `pods/exec`. Nodes that do not respond do not delay the others.

use super::cluster::Cluster;
use super::connection::unless_broken;
use crate::model::Pod;
use crate::output::{count, waiting};
use futures::AsyncReadExt as _;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess, LogParams};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;
use usnet_common::api::error::message;

/// The number of nodes that are queried at a time. Rates are measured over 5 s, so that 200 nodes
/// take 25 s; more at a time would be more connections of the API server to kubelets.
const CONCURRENCY: usize = 64;
/// The maximum output that is read, in bytes: the state of a node with thousands of networks has a
/// few MB.
const OUTPUT_MAX: u64 = 64 << 20;
/// The number of bytes of a log that are read at a time.
const BUFFER_SIZE: usize = 64 * 1024;
pub(super) const PROGRAM: &str = "/usr/local/bin/usnet";

/// Runs `usnet` in a container. Returns what it printed, even if its exit status was not 0. The
/// error is one sentence for users.
pub(crate) async fn run_usnet(
    cluster: &Cluster,
    pod: &Pod,
    container: &str,
    arguments: &[&str],
) -> Result<String, String> {
    if !pod.container(container).is_some_and(|container| container.is_running) {
        return Err(format!("pod {} is not running ({})", pod.name, pod.state()));
    }
    run_command(cluster, (&pod.namespace, &pod.name), container, &[&[PROGRAM], arguments].concat()).await
}

/// Reads the log of a container of usnet, or of its previous run. The error is one sentence for
/// users.
pub(crate) async fn log_of(cluster: &Cluster, pod: &Pod, container: &str, log: LogParams) -> Result<String, String> {
    let pods: Api<v1::Pod> = Api::namespaced(cluster.streams.clone(), &pod.namespace);
    let log = LogParams { container: Some(container.to_owned()), ..log };
    let silent = |_| format!("no response within {} s", cluster.timeout.as_secs());
    let opened = timeout(cluster.timeout, pods.log_stream(&pod.name, &log)).await.map_err(silent)?;
    let mut stream = pin!(opened.map_err(|error| message(&error))?);
    let mut text = Vec::new();
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        match timeout(cluster.timeout, stream.read(&mut buffer)).await.map_err(silent)? {
            Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Ok(length) => text.extend(buffer.get(..length).unwrap_or_default()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Runs any program in a container of the pod with this namespace and name, like [`run_usnet`].
pub(crate) async fn run_command(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    container: &str,
    command: &[&str],
) -> Result<String, String> {
    let silent = |limit: Duration| format!("pod {name} did not respond within {} s", limit.as_secs());
    let pods: Api<v1::Pod> = Api::namespaced(cluster.streams.clone(), namespace);
    let params = AttachParams { container: Some(container.to_owned()), ..AttachParams::default() };
    let process = timeout(cluster.timeout, pods.exec(name, command.to_vec(), &params)).await;
    let process = process.map_err(|_| silent(cluster.timeout))?.map_err(|error| message(&error))?;
    // A program takes longer than the start of a response.
    let patience = cluster.timeout + Duration::from_secs(5);
    let End { outputs: [stdout, stderr], status } = output(process, patience, || silent(patience)).await?;
    match status.filter(|status| status.status.as_deref() == Some("Failure")) {
        Some(failure) if stdout.is_empty() => {
            let last_line = stderr.lines().last().filter(|line| !line.is_empty());
            Err(last_line.map_or_else(|| failure.message.unwrap_or_default(), str::to_owned))
        }
        _ => Ok(stdout),
    }
}

/// How a program ended.
struct End {
    /// Its standard output and its standard error.
    outputs: [String; 2],
    status: Option<Status>,
}

/// Reads the outputs of a program until it ends. The error is `silent` if nothing comes for so
/// long.
async fn output(
    mut process: AttachedProcess,
    patience: Duration,
    silent: impl FnOnce() -> String,
) -> Result<End, String> {
    let (stdout, stderr, status) = (process.stdout(), process.stderr(), process.take_status());
    let read = read_both([stdout, stderr], patience);
    let outputs = unless_broken(read, process.join()).await?.ok_or_else(silent)?;
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    Ok(End { outputs: outputs.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), status })
}

/// Reads two streams to their ends; `None` if nothing comes for so long.
async fn read_both(streams: [Option<impl AsyncRead + Unpin>; 2], patience: Duration) -> Option<[Vec<u8>; 2]> {
    let [mut first, mut second] = streams.map(|stream| stream.map(|stream| stream.take(OUTPUT_MAX)));
    let mut outputs = [Vec::new(), Vec::new()];
    while first.is_some() || second.is_some() {
        let [one, other] = &mut outputs;
        let read = async {
            tokio::select! {
                length = read_some(&mut first, one), if first.is_some() => if length == 0 { first = None },
                length = read_some(&mut second, other), if second.is_some() => if length == 0 { second = None },
            }
        };
        timeout(patience, read).await.ok()?;
    }
    Some(outputs)
}

/// A stream that cannot be read has ended.
async fn read_some(stream: &mut Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) -> usize {
    match stream {
        Some(stream) => stream.read_buf(bytes).await.unwrap_or_default(),
        None => 0,
    }
}

/// Runs `usnet` in this container of each pod, and parses what it prints. The results are in the
/// order of the pods. The user is told how many are awaited.
pub(crate) async fn run_on_nodes<'a, T>(
    cluster: &Cluster,
    pods: Vec<&'a Pod>,
    container: &str,
    arguments: &[&str],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<(&'a Pod, Result<T, String>)> {
    let total = pods.len();
    let asked = stream::iter(pods).map(async |pod| (pod, run_usnet(cluster, pod, container, arguments).await));
    let mut answers = pin!(asked.buffered(CONCURRENCY));
    let mut parsed = Vec::with_capacity(total);
    while let Some((pod, answer)) = waiting(count(total - parsed.len(), "node"), answers.next()).await {
        parsed.push((pod, answer.and_then(|text| parse(&text))));
    }
    parsed
}
