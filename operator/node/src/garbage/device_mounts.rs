//! Mounts the file systems of devices when kubelet allocates them, on request of the agent, which
//! may not mount (IO). The mount must exist before the container is started. Without a file system
//! of its own, what the container writes there would fill the node's `/run`.
//!
//! A request is the name of a device on a connection of its own; the reply is [`DONE`], or the
//! reason of a failure. Only root can connect, and clients that send nothing do not delay others.

use crate::attach::reading::{Evicted, Reading, read};
use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use usnet_common::display::ErrorChain;
use usnet_crds::DeviceId;
use usnet_dataplane::paths::NodePaths;
use usnet_plugin::attachment::pod_directory::allocate_device;

const DONE: &str = "done";
/// The maximum size of a request in bytes. Names of devices are shorter.
const REQUEST_MAX: u64 = 512;
/// How long one request may take. A mount takes milliseconds, unless the node is overloaded.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failed accept, as when no descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a file system could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the container for garbage collection, which mounts it, does not answer")]
    Unreachable(#[source] io::Error),
    #[error("{0}")]
    Failed(String),
}

/// Requests the mount of a device, as the agent does.
pub async fn request(paths: &NodePaths, device: &DeviceId) -> Result<(), Error> {
    let reply = timeout(TIMEOUT, exchange(&paths.device_mounts_socket(), device)).await;
    match reply.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())).map_err(Error::Unreachable)? {
        reply if reply == DONE => Ok(()),
        reply => Err(Error::Failed(reply)),
    }
}

async fn exchange(socket: &Path, device: &DeviceId) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(device.to_string().as_bytes()).await?;
    stream.shutdown().await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    Ok(reply)
}

/// Listens for requests.
pub(super) fn listen(paths: &NodePaths) -> io::Result<UnixListener> {
    let socket = paths.device_mounts_socket();
    fs::create_dir_all(&paths.run)?;
    match fs::remove_file(&socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    UnixListener::bind(socket)
}

/// Serves requests indefinitely. File systems are mounted one after another.
pub(super) async fn serve(listener: UnixListener, paths: NodePaths) -> Infallible {
    let (mut connections, mut reading) = (JoinSet::new(), Reading::default());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (paths, evicted) = (paths.clone(), reading.add());
                // A requester that does not read its reply is not waited for.
                connections.spawn(async move { drop(timeout(TIMEOUT, answer(stream, &paths, evicted)).await) });
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(mut stream: UnixStream, paths: &NodePaths, evicted: Evicted) -> io::Result<()> {
    let name = String::from_utf8_lossy(&read(&mut stream, evicted, REQUEST_MAX).await?).into_owned();
    let reply = match name.parse::<DeviceId>() {
        Ok(device) => match allocate_device(paths, &device) {
            Ok(()) => DONE.to_owned(),
            Err(error) => {
                tracing::warn!(%device, error = %ErrorChain(&error), "cannot mount the file system of a device");
                ErrorChain(&error).to_string()
            }
        },
        Err(_) => format!("{name:?} is not a device"),
    };
    stream.write_all(reply.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn silent_clients_delay_no_request() {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let listener = listen(&paths).unwrap();
        let serving = tokio::spawn(serve(listener, paths.clone()));
        let mut held = Vec::new();
        for _ in 0..400 {
            held.push(UnixStream::connect(paths.device_mounts_socket()).await.unwrap());
        }
        let ask = async {
            let mut stream = UnixStream::connect(paths.device_mounts_socket()).await?;
            stream.write_all(b"../no device").await?;
            stream.shutdown().await?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply).await.map(|_| reply)
        };
        let reply = timeout(Duration::from_secs(1), ask).await.expect("it waits for silent clients").unwrap();
        assert_eq!(reply, "\"../no device\" is not a device");
        serving.abort();
    }
}
