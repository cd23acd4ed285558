//! Requests to the kernel (IO). They block, for a second with a thousand devices, and run on a
//! thread of their own so that the agent continues meanwhile.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use tokio::task::spawn_blocking;
use usnet_dataplane::links::{KernelLinks, LinkError, Links, ObservedLinks};
use usnet_dataplane::netlink::NetlinkError;

pub(super) async fn observe(
    network_namespace: Option<PathBuf>,
    addresses: BTreeSet<IpAddr>,
) -> Result<ObservedLinks, LinkError> {
    with_kernel(network_namespace, move |kernel| kernel.observe(&addresses)).await
}

pub(super) async fn with_kernel<T: Send + 'static>(
    network_namespace: Option<PathBuf>,
    request: impl FnOnce(&mut KernelLinks) -> Result<T, LinkError> + Send + 'static,
) -> Result<T, LinkError> {
    let run = move || request(&mut KernelLinks::open(network_namespace.as_deref())?);
    on_thread(run).await.unwrap_or_else(Err)
}

/// Runs a blocking function on a thread of its own; fails if that panicked.
pub(super) async fn on_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T, LinkError> {
    spawn_blocking(run).await.map_err(|error| {
        let source = NetlinkError::Socket(io::Error::other(error));
        LinkError::Netlink { what: "request network devices".to_owned(), source }
    })
}
