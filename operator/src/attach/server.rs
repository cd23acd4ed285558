//! The service: a socket, and a child process for each request (IO).

use super::call::{self, failure};
use super::{Answer, Request, SIZE_MAX, TIMEOUT};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use usnet_dataplane::paths::NodePaths;

/// How long a request may take to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the plugin may run. An IPAM plugin may take half a minute.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(35);
/// How many plugins run at once.
pub(super) const CALLS_MAX: usize = 16;
/// Pause after a failed accept, as when no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Options of `usnet serve-attachments`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The CNI plugin.
    #[arg(long, env = "USNET_PLUGIN", value_name = "FILE", default_value = "/opt/cni/bin/userspace")]
    pub plugin: PathBuf,
    /// The folders of IPAM plugins, separated by colons.
    #[arg(long, env = "CNI_PATH", value_name = "FOLDERS", default_value = "/opt/cni/bin")]
    pub plugin_folders: OsString,
}

/// Why it ends.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {}: is the run folder of usnet mounted, and writable?", path.display())]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

/// Serves requests until it is dropped.
///
/// # Errors
/// When the socket cannot be created.
pub async fn run(options: Options) -> Result<Infallible, Error> {
    let path = NodePaths::from_environment().attach_socket();
    let listener = listen(&path).map_err(|source| Error { path: path.clone(), source })?;
    tracing::info!(socket = %path.display(), "serving attachments");
    Ok(serve(listener, options).await)
}

pub(super) fn listen(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub(super) async fn serve(listener: UnixListener, options: Options) -> Infallible {
    let (options, calls) = (Arc::new(options), Arc::new(Semaphore::new(CALLS_MAX)));
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (options, calls) = (Arc::clone(&options), Arc::clone(&calls));
                connections.spawn(async move {
                    if let Err(error) = answer(stream, &options, &calls).await {
                        tracing::warn!(%error, "a request for an attachment was not answered");
                    }
                });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(mut stream: UnixStream, options: &Arc<Options>, calls: &Semaphore) -> io::Result<()> {
    let accepted = Instant::now();
    let mut text = Vec::new();
    let read = timeout(READ_TIMEOUT, (&mut stream).take(SIZE_MAX).read_to_end(&mut text)).await;
    read.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
    let answer = match serde_json::from_slice::<Request>(&text) {
        Ok(request) => {
            let _permit = turn(calls, &stream, TIMEOUT.saturating_sub(accepted.elapsed())).await?;
            let options = Arc::clone(options);
            // The plugin is waited for even if the requester is not there any more.
            let run = move || call::run(&options.plugin, &options.plugin_folders, &request, PLUGIN_TIMEOUT);
            spawn_blocking(run).await.map_err(io::Error::other)?
        }
        Err(error) => failure(format!("not a request: {error}")),
    };
    if let Answer::Error(error) = &answer {
        tracing::warn!(%error, "an attachment failed");
    }
    stream.write_all(&serde_json::to_vec(&answer)?).await?;
    stream.shutdown().await
}

/// Waits until the plugin may run for a request. That fails when the requester has given up: it may
/// want something else by then, and what the plugin did would remain unknown.
pub(super) async fn turn<'a>(
    calls: &'a Semaphore,
    stream: &UnixStream,
    limit: Duration,
) -> io::Result<SemaphorePermit<'a>> {
    let waited = timeout(limit, calls.acquire()).await;
    let permit = waited
        .map_err(|_| io::Error::new(ErrorKind::TimedOut, "too many other calls of the CNI plugin"))?
        .map_err(io::Error::other)?;
    // One that waits has closed its half for writing only.
    if stream.ready(Interest::WRITABLE).await?.is_write_closed() {
        return Err(io::Error::new(ErrorKind::BrokenPipe, "the requester did not wait for it"));
    }
    Ok(permit)
}
