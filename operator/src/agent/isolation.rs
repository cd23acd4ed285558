//! Keeps the node out of the networks of its engines: each device that is a port of an engine has a
//! chain that drops what arrives for the node ([`usnet_dataplane::isolation`]). The plugin makes it
//! with each interface. This task makes it for the devices that the agent creates and for those
//! that engines borrow, makes what is missing or was changed, and removes what is left of devices
//! that are gone. It needs no engine.

use crate::display::ErrorChain;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use usnet_crds::EngineKind;
use usnet_dataplane::links::{EngineDevices, Kept, KernelLinks, LentDevices, LinkError};
use usnet_dataplane::netlink::NetlinkError;

/// Changes of devices and rules are reported by the kernel. Of settings not all are.
const LOOK: Duration = Duration::from_secs(30);
/// A second look for what could not be repaired.
const RETRY: Duration = Duration::from_secs(1);

/// What all reconcilers have said of their engines.
#[derive(Debug, Clone)]
pub(crate) struct Isolation {
    network_namespace: Option<PathBuf>,
    lent: Arc<Mutex<LentDevices>>,
}

impl Isolation {
    /// Nothing is known of any engine yet.
    pub(crate) fn new(network_namespace: Option<PathBuf>) -> Self {
        Self { network_namespace, lent: Arc::default() }
    }

    /// Says what an engine has; returns once all of it is isolated.
    ///
    /// # Errors
    /// A device cannot be isolated.
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
        // The next call tries again, and nothing is given back meanwhile.
        self.lent.lock().unwrap_or_else(PoisonError::into_inner).engines.remove(&engine);
        Err(failure)
    }

    /// Keeps all devices isolated, indefinitely. `changes` are those of the node's devices and of
    /// its rules for packets.
    pub(crate) async fn follow(self, mut changes: Receiver<()>) {
        let mut reported = None;
        loop {
            let wait = match self.keep(None).await {
                Ok(kept) => {
                    log(&kept);
                    report(&mut reported, kept.failures.first());
                    if kept.failures.is_empty() { LOOK } else { RETRY }
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

    /// One look at all devices. Two never run at the same time: one would remove what the other has
    /// just made.
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

/// Each failure once.
fn report(reported: &mut Option<String>, failure: Option<&LinkError>) {
    let failure = failure.map(|failure| ErrorChain(failure).to_string());
    if failure != *reported
        && let Some(error) = &failure
    {
        tracing::warn!(error, "pods may reach this node over devices of their networks, which cannot be isolated");
    }
    *reported = failure;
}
