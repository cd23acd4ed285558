//! Serves the socket, and runs a child process for each request (IO).

use super::call::{self, failure};
use super::log_subject::log_failure;
use super::options::Options;
use super::reading::{CLIENT_TIMEOUT, Evicted, Reading, read};
use super::{Answer, REQUEST_MAX, Request, TIMEOUT};
use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};
use usnet_dataplane::paths::NodePaths;

/// How long the plugin may run. An IPAM plugin may take half a minute.
const PLUGIN_TIMEOUT: Duration = Duration::from_secs(35);
/// The maximum number of plugins that run at once.
pub(super) const CALLS_MAX: usize = 16;
/// The maximum size of all waiting requests in bytes.
const WAITING_BYTES: usize = 32 << 20;
/// Pause after a failed accept, as when no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The resources that requests share.
#[derive(Debug)]
pub(super) struct Shares {
    /// One permit for each running plugin.
    pub(super) calls: Semaphore,
    /// One permit for each byte of waiting requests.
    waiting: Semaphore,
}

impl Shares {
    pub(super) fn new(calls: usize) -> Self {
        Self { calls: Semaphore::new(calls), waiting: Semaphore::new(WAITING_BYTES) }
    }
}

/// Why the service cannot run.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {}: is the run folder of usnet mounted, and writable?", path.display())]
pub struct Error {
    path: PathBuf,
    source: io::Error,
}

/// Serves requests until it is dropped.
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
    let (options, shares) = (Arc::new(options), Arc::new(Shares::new(CALLS_MAX)));
    let (mut connections, mut reading) = (JoinSet::new(), Reading::default());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (options, shares, evicted) = (Arc::clone(&options), Arc::clone(&shares), reading.add());
                connections.spawn(async move {
                    if let Err(error) = serve_client(stream, evicted, &options, &shares).await {
                        tracing::debug!(%error, "a request for an attachment was not answered");
                    }
                });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_client(
    mut stream: UnixStream,
    evicted: Evicted,
    options: &Arc<Options>,
    shares: &Shares,
) -> io::Result<()> {
    let accepted = Instant::now();
    let text = read(&mut stream, evicted, REQUEST_MAX).await?;
    let answer = answer(&text, &stream, accepted, options, shares).await?;
    let write = async {
        stream.write_all(&serde_json::to_vec(&answer)?).await?;
        stream.shutdown().await
    };
    timeout(CLIENT_TIMEOUT, write).await.map_err(|_| io::Error::from(ErrorKind::TimedOut))?
}

async fn answer(
    text: &[u8],
    stream: &UnixStream,
    accepted: Instant,
    options: &Arc<Options>,
    shares: &Shares,
) -> io::Result<Answer> {
    if text.len() as u64 > REQUEST_MAX {
        return Ok(refused(format!("not a request: it is longer than {REQUEST_MAX} bytes")));
    }
    let size = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let Ok(_waits) = shares.waiting.try_acquire_many(size) else {
        return Ok(refused("too many requests wait for the CNI plugin: try again later".to_owned()));
    };
    let _permit = turn(&shares.calls, stream, TIMEOUT.saturating_sub(accepted.elapsed())).await?;
    let request = match serde_json::from_slice::<Request>(text) {
        Ok(request) => request,
        Err(error) => return Ok(refused(format!("not a request: {error}"))),
    };
    let options = Arc::clone(options);
    // The service waits for the plugin even if the requester has gone.
    let call = move || {
        let answer = call::run(&options, &request, PLUGIN_TIMEOUT);
        log_failure(&request, &answer);
        answer
    };
    spawn_blocking(call).await.map_err(io::Error::other)
}

/// Answers a request of which nothing is known.
fn refused(why: String) -> Answer {
    tracing::warn!(why, "a request for an attachment was refused");
    failure(why)
}

/// Waits until the plugin may run for a request. This fails if the requester has gone: it may
/// request something else by now, and would not learn what the plugin did.
pub(super) async fn turn<'a>(
    calls: &'a Semaphore,
    stream: &UnixStream,
    limit: Duration,
) -> io::Result<SemaphorePermit<'a>> {
    let waited = timeout(limit, calls.acquire()).await;
    let permit = waited
        .map_err(|_| io::Error::new(ErrorKind::TimedOut, "too many other calls of the CNI plugin"))?
        .map_err(io::Error::other)?;
    // A requester that waits has closed only its writing half.
    if stream.ready(Interest::WRITABLE).await?.is_write_closed() {
        return Err(io::Error::new(ErrorKind::BrokenPipe, "the requester did not wait"));
    }
    Ok(permit)
}
