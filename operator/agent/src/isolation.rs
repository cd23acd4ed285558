//! Isolates the node from the networks of its engines: each device that is a port of an engine has
//! a chain of rules that drops packets for the node ([`usnet_dataplane::isolation`]). The plugin
//! creates the chain of each interface. This task creates it for the devices that the agent creates
//! and for NICs that engines use, restores chains that are missing or were changed, and removes
//! those of devices that are gone. It needs no engine.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::links::{EngineDevices, Kept, KernelLinks, LentDevices, LinkError};
use usnet_dataplane::netlink::NetlinkError;

/// How often all devices are checked without an event. The kernel reports changes of devices and
/// rules, but not of all settings.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);
/// Delay before another attempt, if a device could not be isolated.
const RETRY: Duration = Duration::from_secs(1);

/// The devices of all engines, as their reconcilers reported them.
#[derive(Debug, Clone)]
pub(crate) struct Isolation {
    network_namespace: Option<PathBuf>,
    lent: Arc<Mutex<LentDevices>>,
}

impl Isolation {
    pub(crate) fn new(network_namespace: Option<PathBuf>) -> Self {
        Self { network_namespace, lent: Arc::default() }
    }

    /// Sets the devices of an engine; returns once all of them are isolated, or with the first
    /// failure.
    pub(crate) async fn lend(&self, engine: EngineKind, devices: EngineDevices) -> Result<(), LinkError> {
        if self.lent.lock().unwrap_or_else(PoisonError::into_inner).engines.get(&engine) == Some(&devices) {
            return Ok(());
        }
        let kept = self.keep(Some((engine, devices))).await;
        let failure = match kept {
            Ok(kept) => {
                log(&kept);
                kept.failures.into_iter().next()
            }
            Err(error) => Some(error),
        };
        let Some(failure) = failure else { return Ok(()) };
        // The next call tries again. Until then the devices of the engine count as unknown, so that
        // no chain of them is removed.
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).engines.remove(&engine);
        Err(failure)
    }

    /// Keeps all devices isolated, indefinitely. `changes` reports changes of the node's devices
    /// and of its packet rules.
    pub(crate) async fn follow(self, mut changes: Receiver<()>) {
        let mut reported = None;
        loop {
            let wait = match self.keep(None).await {
                Ok(kept) => {
                    log(&kept);
                    report(&mut reported, kept.failures.first());
                    if kept.failures.is_empty() { CHECK_INTERVAL } else { RETRY }
                }
                Err(error) => {
                    report(&mut reported, Some(&error));
                    RETRY
                }
            };
            if let Ok(Err(_closed)) = timeout(wait, changes.changed()).await {
                return;
            }
        }
    }

    /// Checks and repairs all devices once. Two checks never run at the same time: one would remove
    /// what the other has just created.
    async fn keep(&self, change: Option<(EngineKind, EngineDevices)>) -> Result<Kept, LinkError> {
        let Self { network_namespace, lent } = self.clone();
        let run = move || {
            let mut lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
            lent.engines.extend(change);
            let kept = KernelLinks::open(network_namespace.as_deref())?.keep_isolated(&lent)?;
            Ok(kept.unwrap_or_default())
        };
        spawn_blocking(run).await.unwrap_or_else(|error| {
            let source = NetlinkError::Socket(io::Error::other(error));
            Err(LinkError::Netlink { what: "isolate the node's devices".to_owned(), source })
        })
    }
}

fn log(kept: &Kept) {
    for change in &kept.changes {
        tracing::info!("{change}");
    }
}

/// Logs each failure once.
fn report(reported: &mut Option<String>, failure: Option<&LinkError>) {
    let failure = failure.map(|failure| ErrorChain(failure).to_string());
    if failure != *reported
        && let Some(error) = &failure
    {
        tracing::warn!(error, "pods may reach this node over devices of their networks, which cannot be isolated");
    }
    *reported = failure;
}
