//! Streams the output of a program in a container of usnet. The program has to exit at the end of
//! its standard input, which tells it that its reader is gone for whatever reason.

use super::cluster::Cluster;
use super::exec::PROGRAM;
use crate::error::Error;
use crate::model::Pod;
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use std::io::{self, ErrorKind, Write};
use std::pin::pin;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The number of bytes that are read at a time.
const BUFFER_SIZE: usize = 64 * 1024;

/// Runs `usnet` in a container until it exits or the user interrupts it, and copies what it prints.
/// Returns whether it succeeded.
pub(crate) async fn stream_from(
    cluster: &Cluster,
    pod: &Pod,
    container: &str,
    arguments: &[&str],
    output: &mut dyn Write,
) -> Result<bool, Error> {
    let what = format!("the output of a program in pod {} (create pods/exec)", pod.reference());
    let pods: Api<v1::Pod> = Api::namespaced(cluster.client.clone(), &pod.namespace);
    let container = Some(container.to_owned());
    let params = AttachParams { container, stdin: true, ..AttachParams::default() };
    let command = [&[PROGRAM], arguments].concat();
    let process = timeout(cluster.timeout, pods.exec(&pod.name, command, &params)).await;
    let process = process.map_err(|_| Error::Timeout { what: what.clone(), after: cluster.timeout })?;
    copy(process.map_err(|error| Error::of_request(&what, error))?, output).await
}

async fn copy(mut process: AttachedProcess, output: &mut dyn Write) -> Result<bool, Error> {
    let (stdout, stderr, mut stdin) = (process.stdout(), process.stderr(), process.stdin());
    let status = process.take_status();
    let mut errors = pin!(print_errors(stderr));
    let mut written = pin!(write_all(stdout, output));
    let (mut has_errors, mut is_interrupted) = (false, false);
    let result = loop {
        tokio::select! {
            result = &mut written => break result,
            () = &mut errors, if !has_errors => has_errors = true,
            _ = tokio::signal::ctrl_c() => {
                // The first interrupt waits for the rest of the output, which makes the file
                // complete; the second does not.
                if std::mem::replace(&mut is_interrupted, true) {
                    break Ok(());
                }
                close(&mut stdin).await;
            }
        }
    };
    match result {
        Ok(()) if is_interrupted => return Ok(true),
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            close(&mut stdin).await;
            return Ok(true);
        }
        Err(error) => {
            close(&mut stdin).await;
            return Err(Error::Output(error.to_string()));
        }
    }
    if !has_errors {
        errors.await;
    }
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    // A broken connection has no status.
    Ok(status.is_some_and(|status| status.status.as_deref() == Some("Success")))
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

async fn print_errors(stderr: Option<impl AsyncRead + Unpin>) {
    let mut text = String::new();
    if let Some(mut stderr) = stderr {
        let _read = stderr.read_to_string(&mut text).await;
    }
    let _written = io::stderr().write_all(text.as_bytes());
}
