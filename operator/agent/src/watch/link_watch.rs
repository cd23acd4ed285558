//! Watches the devices and the packet rules of the node (IO): other programs may delete, rename or
//! change the VXLAN device of a network or the device that it sends through, delete rules, or bind
//! a NIC to another driver.

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
use usnet_dataplane::links::pci::PciMonitor;
use usnet_dataplane::links::{KernelLinks, LinkError, LinkMonitor};

/// The minimum time between two notifications. Changes come in bursts: each pod that starts causes
/// some.
const INTERVAL: Duration = Duration::from_millis(50);
/// Delay before a failed watch is started again. Until then, changes are noticed only when
/// something else wakes the agent.
const RETRY: Duration = Duration::from_secs(1);

/// Sends a value, indefinitely, when devices, addresses or packet rules of a network namespace have
/// changed, or when devices of the PCI bus have come or gone, or have another driver.
pub(crate) async fn follow(network_namespace: Option<PathBuf>, changes: watch::Sender<()>) {
    let namespace = network_namespace.as_deref();
    let drain_devices = |monitor: &LinkMonitor| monitor.drain().map(|()| true);
    tokio::join!(
        follow_monitor("devices", || LinkMonitor::open(namespace), drain_devices, changes.clone()),
        follow_monitor("packet rules", || KernelLinks::watch_rules(namespace), |it| it.drain(), changes.clone()),
        follow_monitor("PCI devices", open_pci, PciMonitor::drain, changes.clone()),
    );
}

fn open_pci() -> Result<PciMonitor, LinkError> {
    let failed = |source| LinkError::Netlink { what: "watch the devices of the PCI bus".to_owned(), source };
    PciMonitor::open().map_err(failed)
}

async fn follow_monitor<M: AsFd>(
    what: &str,
    open: impl Fn() -> Result<M, LinkError>,
    drain: impl Fn(&M) -> io::Result<bool>,
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
    drain: impl Fn(&M) -> io::Result<bool>,
    changes: &watch::Sender<()>,
) -> io::Result<Infallible> {
    // Of the types that tokio can wait for, this one takes any socket. It is only used for waiting.
    let readiness = UnixDatagram::from_std(monitor.as_fd().try_clone_to_owned()?.into())?;
    // Changes before the socket was opened are not reported by it.
    changes.send_replace(());
    loop {
        readiness.readable().await?;
        let mut is_changed = false;
        let drained = readiness.try_io(Interest::READABLE, || -> io::Result<()> {
            is_changed = drain(monitor)?;
            Err(io::ErrorKind::WouldBlock.into())
        });
        match drained {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ if is_changed => changes.send_replace(()),
            _ => continue,
        };
        sleep(INTERVAL).await;
    }
}
