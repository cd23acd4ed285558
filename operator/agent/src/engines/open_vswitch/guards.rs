//! Keeps the flows of guarded bridges as their rows say (IO): they go with the process of the
//! switch and with each change of `fail_mode`, and other clients may change them. A bridge without
//! them forwards nothing.
//!
//! The plugin writes the flows of a new port itself. The agent looks for them when it sees the port
//! for the first time, and has them written if that was interrupted, or if the guard has changed.

use super::vswitchd_process::VswitchdProcess;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{interval, sleep_until};
use usnet_common::display::ErrorChain;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::ovs::{GuardedPorts, guarded_flows, guarded_from};
use usnet_openflow::{OpenFlowError, socket};
use usnet_ovsdb::asynchronous::State;

/// How often all flows of all bridges are compared.
const INTERVAL: Duration = Duration::from_secs(10);
/// The switch sends 100 flows in a millisecond: after a round it is left alone for this many times
/// the duration of the round.
const PAUSE: u32 = 20;
/// How long the switch may take for one bridge.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Delay between attempts while a bridge has no flows, during which it forwards nothing: the first
/// ones come one by one with the start of a switch.
const RETRY: Duration = Duration::from_millis(5);
/// Delay after [`RETRY_SHORT`] attempts: the switch may be gone for long.
const RETRY_LATER: Duration = Duration::from_millis(250);
const RETRY_SHORT: u32 = 1_000;

/// Whether a bridge has its flows, by the name of the bridge.
pub(super) type ByBridge = BTreeMap<String, bool>;

/// Keeps flows, and knows which bridges have them.
#[derive(Debug, Clone)]
pub(super) struct GuardKeeper {
    folder: PathBuf,
    complete: Arc<watch::Sender<ByBridge>>,
    /// Asks for a comparison of all flows.
    requests: Arc<Notify>,
}

impl GuardKeeper {
    /// Keeps the flows of bridges whose management sockets are in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            complete: Arc::new(watch::Sender::new(ByBridge::new())),
            requests: Arc::default(),
        }
    }

    /// Subscribes to changes of which bridges have their flows.
    pub(super) fn subscribe(&self) -> watch::Receiver<ByBridge> {
        self.complete.subscribe()
    }

    /// Keeps the flows of all bridges indefinitely.
    pub(super) async fn follow(
        self,
        mut states: watch::Receiver<State>,
        mut process: watch::Receiver<VswitchdProcess>,
    ) {
        let mut ticks = interval(INTERVAL);
        let mut kept = Kept::default();
        loop {
            let retry = kept.retry.unwrap_or_else(|| Instant::now() + INTERVAL);
            let is_about_all = tokio::select! {
                _ = ticks.tick() => true,
                changed = process.changed() => if changed.is_err() { return } else { kept.forget(); true },
                changed = states.changed() => if changed.is_err() { return } else { false },
                () = self.requests.notified() => true,
                () = sleep_until(retry.into()) => false,
            };
            let Some(bridges) = guarded(&states.borrow_and_update()) else { continue };
            let began = Instant::now();
            self.keep(&mut kept, bridges, is_about_all).await;
            if is_about_all {
                ticks.reset_after(INTERVAL.max(began.elapsed() * PAUSE));
            }
        }
    }

    async fn keep(&self, kept: &mut Kept, bridges: BTreeMap<String, GuardedPorts>, is_about_all: bool) {
        kept.ports.retain(|name, _| bridges.contains_key(name));
        let mut failed = false;
        for (name, ports) in &bridges {
            let before = kept.ports.get(name);
            if !is_about_all && before == Some(ports) {
                continue;
            }
            let before = before.filter(|_| !is_about_all).cloned();
            match self.write(name, before, ports.clone()).await {
                Ok(repaired) => {
                    if repaired > 0 && is_about_all && kept.ports.contains_key(name) {
                        tracing::info!(
                            bridge = name,
                            flows = repaired,
                            "repaired: flows of a guarded bridge had changed"
                        );
                    }
                    kept.ports.insert(name.clone(), ports.clone());
                }
                Err(error) => {
                    tracing::debug!(bridge = name, error = %ErrorChain(&error), "cannot write the flows of a bridge");
                    kept.ports.remove(name);
                    failed = true;
                }
            }
        }
        kept.reschedule(failed);
        let complete: ByBridge = bridges.keys().map(|name| (name.clone(), kept.ports.contains_key(name))).collect();
        self.complete.send_if_modified(|last| {
            let differs = *last != complete;
            *last = complete;
            differs
        });
    }

    /// Writes what a bridge lacks, and deletes what it has besides; returns the number of flows.
    /// With the ports whose flows it has, only those of others are compared.
    async fn write(
        &self,
        name: &str,
        before: Option<GuardedPorts>,
        ports: GuardedPorts,
    ) -> Result<usize, OpenFlowError> {
        let socket = socket(&self.folder, name);
        let path = socket.clone();
        let panicked = |error| Err(OpenFlowError::Connect { socket, source: io::Error::other(error) });
        let write = move || match before {
            Some(before) => guarded_flows::update(&path, TIMEOUT, &before, &ports),
            None => guarded_flows::restore(&path, TIMEOUT, &ports, None),
        };
        spawn_blocking(write).await.unwrap_or_else(panicked)
    }

    /// Adds the results to what the database says: a bridge without its flows is not as it should
    /// be.
    pub(super) fn add_to(&self, observed: &mut Observed) {
        let complete = self.complete.borrow();
        for (name, bridge) in observed.bridges.iter_mut().filter(|(_, bridge)| bridge.settings.is_guarded == Some(true))
        {
            bridge.has_supported_datapath &= complete.get(name).copied().unwrap_or_default();
        }
    }

    /// Waits until a guarded bridge that was changed has its flows, which it may have lost by that.
    pub(super) async fn settle(&self, name: &str) {
        self.complete.send_if_modified(|complete| complete.insert(name.to_owned(), false) != Some(false));
        self.requests.notify_one();
        let mut complete = self.subscribe();
        // The caller looks again, and reports what is missing.
        let _late = tokio::time::timeout(SETTLE, complete.wait_for(|complete| complete.get(name) == Some(&true))).await;
    }
}

/// How long an update of a bridge waits for its flows.
const SETTLE: Duration = Duration::from_millis(500);

/// The ports whose flows each bridge has, and when to try again.
#[derive(Debug, Default)]
struct Kept {
    ports: BTreeMap<String, GuardedPorts>,
    retry: Option<Instant>,
    attempts: u32,
}

impl Kept {
    /// The process of the switch ended or began.
    fn forget(&mut self) {
        *self = Self::default();
    }

    fn reschedule(&mut self, failed: bool) {
        self.attempts = if failed { self.attempts.saturating_add(1) } else { 0 };
        let delay = if self.attempts > RETRY_SHORT { RETRY_LATER } else { RETRY };
        self.retry = failed.then(|| Instant::now() + delay);
    }
}

fn guarded(state: &State) -> Option<BTreeMap<String, GuardedPorts>> {
    match state {
        State::Connected(snapshot) => guarded_from(&snapshot.cache).ok(),
        State::Disconnected { .. } => None,
    }
}
