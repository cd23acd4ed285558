//! Runs programs in the containers of usnet, with the permissions of the user, who needs `create`
//! of `pods/exec`. Nodes that do not respond do not delay the others.

use super::cluster::Cluster;
use crate::model::Pod;
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::{AttachParams, LogParams};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use usnet_common::api::error::message;

/// The number of nodes that are queried at a time.
const CONCURRENCY: usize = 16;
/// The maximum output that is read, in bytes: the state of a node with thousands of networks has a
/// few MB.
const OUTPUT_MAX: u64 = 64 << 20;
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
    let pods: Api<v1::Pod> = Api::namespaced(cluster.client.clone(), &pod.namespace);
    let log = LogParams { container: Some(container.to_owned()), ..log };
    match tokio::time::timeout(cluster.timeout, pods.logs(&pod.name, &log)).await {
        Ok(answer) => answer.map_err(|error| message(&error)),
        Err(_) => Err(format!("no response within {} s", cluster.timeout.as_secs())),
    }
}

/// Runs any program in a container of the pod with this namespace and name, like [`run_usnet`].
pub(crate) async fn run_command(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    container: &str,
    command: &[&str],
) -> Result<String, String> {
    // The transfer takes longer than the start of a response.
    let limit = cluster.timeout + Duration::from_secs(5);
    let output = tokio::time::timeout(limit, output(cluster, (namespace, name), container, command)).await;
    output.unwrap_or_else(|_| Err(format!("pod {name} did not respond within {} s", limit.as_secs())))
}

async fn output(
    cluster: &Cluster,
    (namespace, name): (&str, &str),
    container: &str,
    command: &[&str],
) -> Result<String, String> {
    let pods: Api<v1::Pod> = Api::namespaced(cluster.client.clone(), namespace);
    let params = AttachParams { container: Some(container.to_owned()), ..AttachParams::default() };
    let mut process = pods.exec(name, command.to_vec(), &params).await.map_err(|error| message(&error))?;
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let status = process.take_status();
    let (stdout, stderr) = futures::join!(read(stdout), read(stderr));
    let failure = match status {
        Some(status) => status.await.filter(|status| status.status.as_deref() == Some("Failure")),
        None => None,
    };
    match failure {
        Some(failure) if stdout.is_empty() => {
            let last_line = stderr.lines().last().filter(|line| !line.is_empty());
            Err(last_line.map_or_else(|| failure.message.unwrap_or_default(), str::to_owned))
        }
        _ => Ok(stdout),
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // A broken connection truncates the output, which then cannot be parsed.
        let _read = stream.take(OUTPUT_MAX).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs `usnet` in this container of each pod, and parses what it prints. The results are in the
/// order of the pods.
pub(crate) async fn run_on_nodes<'a, T>(
    cluster: &Cluster,
    pods: impl IntoIterator<Item = &'a Pod>,
    container: &str,
    arguments: &[&str],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<(&'a Pod, Result<T, String>)> {
    let answers = stream::iter(pods).map(async |pod| (pod, run_usnet(cluster, pod, container, arguments).await));
    let answers = answers.buffered(CONCURRENCY).collect::<Vec<_>>().await;
    answers.into_iter().map(|(pod, answer)| (pod, answer.and_then(|text| parse(&text)))).collect()
}
