//! Watches the devices of the node: others may delete, rename or change the VXLAN device of a
//! network, or the device that it sends through.

use crate::display::ErrorChain;
use std::convert::Infallible;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::sync::watch;
use tokio::time::sleep;
use usnet_dataplane::links::LinkMonitor;

/// Changes come in bursts: each pod that starts causes some.
const INTERVAL: Duration = Duration::from_millis(50);
/// Until then, changes of devices are noticed only when something else wakes the agent.
const RETRY: Duration = Duration::from_secs(1);

/// Sends a value when devices or addresses of a network namespace have changed, indefinitely.
pub(crate) async fn follow(network_namespace: Option<PathBuf>, changes: watch::Sender<()>) {
    let mut is_failing = false;
    loop {
        let failed = match LinkMonitor::open(network_namespace.as_deref()) {
            Ok(monitor) => match follow_until_failure(&monitor, &changes).await {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            },
            Err(error) => ErrorChain(&error).to_string(),
        };
        if !std::mem::replace(&mut is_failing, true) {
            tracing::warn!(error = failed, "cannot watch the devices of the node; retrying");
        }
        sleep(RETRY).await;
    }
}

async fn follow_until_failure(monitor: &LinkMonitor, changes: &watch::Sender<()>) -> io::Result<Infallible> {
    // Of the types that tokio can wait for, this one takes any socket; it is only waited for.
    let readiness = UnixDatagram::from_std(monitor.as_fd().try_clone_to_owned()?.into())?;
    // Changes before the socket was opened are not reported by it.
    changes.send_replace(());
    loop {
        readiness.readable().await?;
        let drained = readiness.try_io(Interest::READABLE, || -> io::Result<()> {
            monitor.drain()?;
            Err(io::ErrorKind::WouldBlock.into())
        });
        match drained {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => changes.send_replace(()),
        };
        sleep(INTERVAL).await;
    }
}
