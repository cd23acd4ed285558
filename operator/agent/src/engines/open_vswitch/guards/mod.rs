//! Keeps the flows of guarded bridges as their rows and the policies of their networks say (IO):
//! they go with the process of the switch and with each change of `fail_mode`, and other clients
//! may change them. A bridge without them forwards nothing.
//!
//! The plugin writes the flows of a new port itself. The agent looks for them when it sees the port
//! for the first time, and has them written if that was interrupted, or if the guard has changed.
//! On bridges with policies the plugin leaves new ports closed, and the agent opens them:
//! [`namespaces`] reads whose they are, [`desired`] what they may have, and [`kept`] has what was
//! written. [`counted`] has what the flows refuse and track.

mod counted;
mod desired;
mod kept;
mod namespaces;

use super::vswitchd_process::VswitchdProcess;
use crate::model::policies::KnownPolicies;
use crate::report::metrics::Metrics;
use counted::Counted;
use desired::Desired;
use kept::Kept;
use namespaces::Namespaces;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{interval, sleep_until};
use usnet_common::display::ErrorChain;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::model::policy_zone::PolicyZone;
use usnet_dataplane::observed::{Observed, PoliciesProblem};
use usnet_dataplane::ovs::refused_frames::Drops;
use usnet_dataplane::ovs::{BridgeFlows, GuardedBridge, PolicyTag, guarded_flows, guarded_from};
use usnet_openflow::{OpenFlowError, PortNumber, socket};
use usnet_ovsdb::asynchronous::State;

/// How often all flows of all bridges are compared.
const INTERVAL: Duration = Duration::from_secs(10);
/// The switch sends 100 flows in a millisecond: after a round it is left alone for this many times
/// the duration of the round.
const PAUSE: u32 = 20;
/// How long the switch may take for one bridge.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The state of bridges, by their names.
pub(super) type ByBridge = BTreeMap<String, Enforcement>;

/// Whether a bridge has its flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Enforcement {
    Missing,
    /// With policies in this zone, if there are any.
    Complete(Option<u16>),
    /// The ports of pods are closed.
    Closed(PoliciesProblem),
}

/// Where policies and the namespaces of pods come from, and where counters go.
#[derive(Debug)]
pub(crate) struct PolicySources {
    pub(crate) metrics: Metrics,
    pub(crate) journal: Journal,
    pub(crate) policies: watch::Receiver<KnownPolicies>,
}

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
        sources: PolicySources,
    ) {
        let PolicySources { metrics, journal, mut policies } = sources;
        let mut ticks = interval(INTERVAL);
        let counted = Counted::new(&self.folder, metrics);
        let mut round = Round { keeper: self, kept: Kept::default(), namespaces: Namespaces::new(journal), counted };
        // The rows may be thousands: with the same ones as before they are not read again.
        let (mut bridges, mut has_rows) = (None, false);
        loop {
            let next = round.kept.next().unwrap_or_else(|| Instant::now() + INTERVAL);
            let is_about_all = tokio::select! {
                _ = ticks.tick() => true,
                changed = process.changed() => if changed.is_err() { return } else { round.forget(); true },
                changed = states.changed() => if changed.is_err() { return } else { has_rows = false; false },
                changed = policies.changed() => if changed.is_err() { return } else { false },
                () = round.keeper.requests.notified() => true,
                () = sleep_until(next.into()) => false,
            };
            if !std::mem::replace(&mut has_rows, true) || states.has_changed().unwrap_or(true) {
                bridges = guarded(&states.borrow_and_update());
            }
            let Some(bridges) = &bridges else { continue };
            let known = policies.borrow_and_update().clone();
            let began = Instant::now();
            round.keep(bridges, &known, is_about_all).await;
            if is_about_all {
                ticks.reset_after(INTERVAL.max(began.elapsed() * PAUSE));
            }
        }
    }

    /// Sends a request on a thread of its own: the switch may take its time, and nothing else waits
    /// for it.
    async fn ask<T: Send + 'static>(
        &self,
        name: &str,
        request: impl FnOnce(&Path) -> Result<T, OpenFlowError> + Send + 'static,
    ) -> Result<T, OpenFlowError> {
        let socket = socket(&self.folder, name);
        let path = socket.clone();
        let panicked = |error| Err(OpenFlowError::Connect { socket, source: io::Error::other(error) });
        spawn_blocking(move || request(&path)).await.unwrap_or_else(panicked)
    }

    /// Has a bridge flood nothing to a port.
    pub(super) async fn stop_flooding(&self, bridge: &str, number: PortNumber) -> Result<(), OpenFlowError> {
        self.ask(bridge, move |socket| guarded_flows::stop_flooding(socket, TIMEOUT, number)).await
    }

    /// Adds the results to what the database says: a bridge without its flows is not as it should
    /// be.
    pub(super) fn add_to(&self, observed: &mut Observed) {
        let complete = self.complete.borrow();
        for (name, bridge) in observed.bridges.iter_mut().filter(|(_, bridge)| bridge.settings.is_guarded == Some(true))
        {
            match complete.get(name) {
                Some(Enforcement::Complete(zone)) => {
                    bridge.has_supported_datapath &= *zone == bridge.settings.policy_zone.map(PolicyZone::number);
                }
                Some(Enforcement::Closed(problem)) => {
                    observed.unenforced.insert(name.clone(), problem.clone());
                }
                Some(Enforcement::Missing) | None => bridge.has_supported_datapath = false,
            }
        }
    }

    /// Waits until a guarded bridge that was changed has its flows, which it may have lost by that.
    pub(super) async fn settle(&self, name: &str, zone: Option<PolicyZone>) {
        let missing = |complete: &mut ByBridge| {
            complete.insert(name.to_owned(), Enforcement::Missing) != Some(Enforcement::Missing)
        };
        self.complete.send_if_modified(missing);
        self.requests.notify_one();
        let zone = zone.map(PolicyZone::number);
        let has_flows = |complete: &ByBridge| match complete.get(name) {
            Some(Enforcement::Complete(found)) => *found == zone,
            Some(Enforcement::Closed(_)) => true,
            Some(Enforcement::Missing) | None => false,
        };
        let mut complete = self.subscribe();
        // The caller looks again, and reports what is missing.
        let _late = tokio::time::timeout(SETTLE, complete.wait_for(has_flows)).await;
    }
}

/// How long an update of a bridge waits for its flows.
const SETTLE: Duration = Duration::from_millis(500);

/// The keeper and what it remembers.
struct Round {
    keeper: GuardKeeper,
    kept: Kept,
    namespaces: Namespaces,
    counted: Counted,
}

impl Round {
    fn forget(&mut self) {
        self.kept.forget();
        self.counted.forget();
    }

    async fn keep(&mut self, bridges: &BTreeMap<String, GuardedBridge>, known: &KnownPolicies, is_about_all: bool) {
        self.kept.retain(|name| bridges.contains_key(name));
        self.counted.retain(|name| bridges.contains_key(name));
        let networks = zones(bridges);
        let with_policies = bridges.values().filter(|bridge| bridge.policies != PolicyTag::None);
        let is_complete = self.namespaces.update(with_policies.map(|bridge| &bridge.ports)).await;
        let mut complete = ByBridge::new();
        for (name, bridge) in bridges {
            let enforcement = match Desired::of(bridge, known, &self.namespaces) {
                Some(desired) => self.keep_one((name.as_str(), bridge.network.as_str()), desired, is_about_all).await,
                None => Enforcement::Missing,
            };
            complete.insert(name.clone(), enforcement);
        }
        self.look_at_new_ports(&mut complete).await;
        self.counted.limit(&networks, is_about_all).await;
        let failed = complete.values().any(|enforcement| *enforcement == Enforcement::Missing);
        self.kept.reschedule(failed, is_complete, Instant::now());
        self.keeper.complete.send_if_modified(|last| {
            let differs = *last != complete;
            *last = complete;
            differs
        });
    }

    async fn keep_one(&mut self, (name, network): (&str, &str), desired: Desired, is_about_all: bool) -> Enforcement {
        let unknown = Enforcement::Closed(PoliciesProblem::Unknown);
        let is_known = desired.is_known;
        match self.is_left(name, &desired).await {
            Ok(true) => return unknown,
            Ok(false) => {}
            Err(error) => return self.failed(name, &error),
        }
        if is_about_all || !self.kept.has(name, &desired) {
            let before = self.kept.flows(name).cloned();
            match self.write(name, before.clone(), desired, is_about_all).await {
                Ok(Written { flows, repaired, drops }) => {
                    if let Some(drops) = drops {
                        self.counted.dropped(name, network, drops);
                    }
                    if repaired > 0 && is_about_all && before.is_some() {
                        tracing::info!(bridge = name, repaired, "repaired: flows of a guarded bridge had changed");
                    }
                    self.kept.set(name, flows, Instant::now());
                }
                Err(error) => return self.failed(name, &error),
            }
        }
        let flows = self.kept.flows(name);
        match flows.and_then(|flows| flows.too_large()) {
            Some(closed) => Enforcement::Closed(PoliciesProblem::TooLarge(closed.to_string())),
            None if is_known => Enforcement::Complete(flows.and_then(|flows| flows.zone())),
            None => unknown,
        }
    }

    /// Whether a bridge is left as it is: it enforces policies, and those of now are not known.
    async fn is_left(&mut self, name: &str, desired: &Desired) -> Result<bool, OpenFlowError> {
        if let Some(is_left) = self.kept.is_left(name, desired) {
            return Ok(is_left);
        }
        let is_left = self.keeper.ask(name, |socket| guarded_flows::enforces_policies(socket, TIMEOUT)).await?;
        if is_left {
            self.kept.leave(name);
        }
        Ok(is_left)
    }

    fn failed(&mut self, name: &str, error: &OpenFlowError) -> Enforcement {
        tracing::debug!(bridge = name, error = %ErrorChain(error), "cannot write the flows of a bridge");
        self.kept.remove(name);
        Enforcement::Missing
    }

    /// Writes what a bridge lacks, and deletes what it has besides. With the flows that it has,
    /// only what differs is written, and nothing is compared unless it `compares`.
    async fn write(
        &self,
        name: &str,
        before: Option<Arc<BridgeFlows>>,
        Desired { ports, policies, .. }: Desired,
        compares: bool,
    ) -> Result<Written, OpenFlowError> {
        let write = move |socket: &Path| {
            let flows = match &before {
                Some(before) => before.after(ports, policies),
                None => BridgeFlows::new(ports, policies),
            };
            let flows = Arc::new(flows);
            let Some(before) = before.filter(|_| !compares) else {
                let restored = guarded_flows::restore(socket, TIMEOUT, &flows)?;
                return Ok(Written { flows, repaired: restored.wrong, drops: Some(restored.drops) });
            };
            let repaired = guarded_flows::update(socket, TIMEOUT, &before, &flows)?;
            Ok(Written { flows, repaired, drops: None })
        };
        self.keeper.ask(name, write).await
    }

    async fn look_at_new_ports(&mut self, complete: &mut ByBridge) {
        for new in self.kept.take_due(Instant::now()) {
            let Some(flows) = self.kept.flows(&new.bridge).cloned() else { continue };
            let numbers: BTreeSet<_> = new.numbers;
            let look = move |socket: &Path| guarded_flows::verify_new_ports(socket, TIMEOUT, &flows, &numbers);
            if let Err(error) = self.keeper.ask(&new.bridge, look).await {
                let failed = self.failed(&new.bridge, &error);
                complete.insert(new.bridge, failed);
            }
        }
    }
}

/// What a bridge has then.
struct Written {
    flows: Arc<BridgeFlows>,
    /// How many flows were wrong.
    repaired: usize,
    /// What its flows had dropped; none if they were not read.
    drops: Option<Drops>,
}

/// The networks with policies by the zones of their connections.
fn zones(bridges: &BTreeMap<String, GuardedBridge>) -> BTreeMap<u16, String> {
    let zone = |bridge: &GuardedBridge| match bridge.policies {
        PolicyTag::Zone(zone) => Some((zone.number(), bridge.network.to_string())),
        PolicyTag::None | PolicyTag::Invalid => None,
    };
    bridges.values().filter_map(zone).collect()
}

fn guarded(state: &State) -> Option<BTreeMap<String, GuardedBridge>> {
    match state {
        State::Connected(snapshot) => guarded_from(&snapshot.cache).ok(),
        State::Disconnected { .. } => None,
    }
}
