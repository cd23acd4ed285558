//! Watches the devices and the packet rules of the node (IO): other programs may delete, rename or
//! change the VXLAN device of a network or the device that it sends through, or delete rules.

use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_dataplane::links::{KernelLinks, LinkError, LinkMonitor};

/// The minimum time between two notifications. Changes come in bursts: each pod that starts causes
/// some.
const INTERVAL: Duration = Duration::from_millis(50);
/// Delay before a failed watch is started again. Until then, changes are noticed only when
/// something else wakes the agent.
const RETRY: Duration = Duration::from_secs(1);

/// Sends a value when devices or addresses of a network namespace have changed, indefinitely.
pub(crate) async fn follow(network_namespace: Option<PathBuf>, changes: watch::Sender<()>) {
    let open = || LinkMonitor::open(network_namespace.as_deref());
    follow_monitor("devices", open, LinkMonitor::drain, changes).await;
}

/// Sends a value when packet rules in a network namespace have changed, indefinitely.
pub(crate) async fn follow_rules(network_namespace: Option<PathBuf>, changes: watch::Sender<()>) {
    let open = || KernelLinks::watch_rules(network_namespace.as_deref());
    follow_monitor("packet rules", open, |monitor| monitor.drain().map(drop), changes).await;
}

async fn follow_monitor<M: AsFd>(
    what: &str,
    open: impl Fn() -> Result<M, LinkError>,
    drain: impl Fn(&M) -> io::Result<()>,
    changes: watch::Sender<()>,
) {
    let mut is_failing = false;
    loop {
        let failed = match open() {
            Ok(monitor) => match follow_until_failure(&monitor, &drain, &changes).await {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            },
            Err(error) => ErrorChain(&error).to_string(),
        };
        if !std::mem::replace(&mut is_failing, true) {
            tracing::warn!(error = failed, "cannot watch the {what} of the node; retrying");
        }
        sleep(RETRY).await;
    }
}

async fn follow_until_failure<M: AsFd>(
    monitor: &M,
    drain: impl Fn(&M) -> io::Result<()>,
    changes: &watch::Sender<()>,
) -> io::Result<Infallible> {
    // Of the types that tokio can wait for, this one takes any socket. It is only used for waiting.
    let readiness = UnixDatagram::from_std(monitor.as_fd().try_clone_to_owned()?.into())?;
    // Changes before the socket was opened are not reported by it.
    changes.send_replace(());
    loop {
        readiness.readable().await?;
        let drained = readiness.try_io(Interest::READABLE, || -> io::Result<()> {
            drain(monitor)?;
            Err(io::ErrorKind::WouldBlock.into())
        });
        match drained {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => changes.send_replace(()),
        };
        sleep(INTERVAL).await;
    }
}
