//! Streams the output of a program in a container of usnet. The program has to exit at the end of
//! its standard input, which tells it that its reader is gone for whatever reason.

use super::cluster::Cluster;
use super::connection::unless_broken;
use super::exec::PROGRAM;
use crate::error::Error;
use crate::model::Pod;
use crate::output::waiting;
use futures::future::try_join;
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::AttachParams;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The number of bytes that are read at a time.
const BUFFER_SIZE: usize = 64 * 1024;

/// Runs `usnet` in a container until it exits or the user interrupts it, and copies what it prints.
/// Returns whether it succeeded. `limit` is how long it may run.
pub(crate) async fn stream_from(
    cluster: &Cluster,
    pod: &Pod,
    container: &str,
    arguments: &[&str],
    limit: Duration,
    output: &mut dyn Write,
) -> Result<bool, Error> {
    let what = format!("the output of a program in pod {} (create pods/exec)", pod.reference());
    let pods: Api<v1::Pod> = Api::namespaced(cluster.streams.clone(), &pod.namespace);
    let container = Some(container.to_owned());
    let params = AttachParams { container, stdin: true, ..AttachParams::default() };
    let command = [&[PROGRAM], arguments].concat();
    let started = timeout(cluster.timeout, pods.exec(&pod.name, command, &params));
    let process = waiting(format_args!("pod {}", pod.reference()), started).await;
    let process = process.map_err(|_| Error::Timeout { what: what.clone(), after: cluster.timeout })?;
    let mut process = process.map_err(|error| Error::of_request(&what, error))?;
    let stopped = |problem| Error::Stream { pod: pod.reference(), problem };
    let (mut stdin, status) = (process.stdin(), process.take_status());
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let copied = async { try_join(write_all(stdout, output), print_errors(stderr)).await.map(drop) };
    match timeout(limit, copy(unless_broken(copied, process.join()), &mut stdin)).await {
        Ok(Ok(End::Interrupted)) => return Ok(true),
        Ok(Ok(End::Program)) => {}
        Ok(Ok(End::Failed(error))) => {
            close(&mut stdin).await;
            let is_reader_gone = error.kind() == ErrorKind::BrokenPipe;
            return if is_reader_gone { Ok(true) } else { Err(Error::Output(error.to_string())) };
        }
        Ok(Err(problem)) => return Err(stopped(problem)),
        Err(_) => {
            close(&mut stdin).await;
            return Err(stopped(format!("it did not end within {} s", limit.as_secs())));
        }
    }
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    match status {
        Some(status) => Ok(status.status.as_deref() == Some("Success")),
        None => Err(stopped("the connection was closed before it ended".to_owned())),
    }
}

/// How copying ended.
enum End {
    /// The program has ended.
    Program,
    /// The user did not want to wait for it.
    Interrupted,
    /// The output cannot be written.
    Failed(io::Error),
}

/// Awaits the end of the program. The first interrupt by the user asks it to end and waits for the
/// rest of its output, which makes the file complete; the second does not wait.
async fn copy(
    copied: impl Future<Output = Result<io::Result<()>, String>>,
    stdin: &mut Option<impl AsyncWrite + Unpin>,
) -> Result<End, String> {
    let mut copied = pin!(copied);
    let mut is_interrupted = false;
    loop {
        tokio::select! {
            copied = &mut copied => return match copied? {
                _ if is_interrupted => Ok(End::Interrupted),
                Ok(()) => Ok(End::Program),
                Err(error) => Ok(End::Failed(error)),
            },
            _ = tokio::signal::ctrl_c() => {
                if std::mem::replace(&mut is_interrupted, true) {
                    return Ok(End::Interrupted);
                }
                close(stdin).await;
            }
        }
    }
}

async fn close(stdin: &mut Option<impl AsyncWrite + Unpin>) {
    if let Some(mut stdin) = stdin.take() {
        // Reading the output reports the error of a broken connection.
        let _closed = stdin.shutdown().await;
    }
}

async fn write_all(stdout: Option<impl AsyncRead + Unpin>, output: &mut dyn Write) -> io::Result<()> {
    let Some(mut stdout) = stdout else { return Ok(()) };
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        let length = stdout.read(&mut buffer).await?;
        if length == 0 {
            return output.flush();
        }
        output.write_all(buffer.get(..length).unwrap_or_default())?;
        output.flush()?;
    }
}

/// Prints what the program tells its user, as it comes.
async fn print_errors(stderr: Option<impl AsyncRead + Unpin>) -> io::Result<()> {
    let Some(mut stderr) = stderr else { return Ok(()) };
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        // The end of a broken connection is that of standard output.
        let length = stderr.read(&mut buffer).await.unwrap_or_default();
        if length == 0 {
            return Ok(());
        }
        // Standard error may be closed.
        let _written = io::stderr().write_all(buffer.get(..length).unwrap_or_default());
    }
}
