//! Keeps the access lists by which VPP enforces policies (IO).
//!
//! A new port lets nothing pass: the plugin, or the agent after a start of VPP, closes it before it
//! is up. This task opens it, when VPP reports the interface, and changes the rules of ports with
//! policies. Everything is read and compared in each round, so that what others have changed is
//! repaired, and a network counts as programmed only after a round that left nothing to do. Rounds
//! begin with changes and every ten seconds, at most once a second: VPP compiles changed rules for
//! all ports that use them. [`session_gauges`] has how many sessions they have.

mod desired;
mod session_gauges;

use crate::engines::attached_pods::Pods;
use crate::model::policies::KnownPolicies;
use crate::model::spec::NodeSpec;
use crate::report::metrics::Metrics;
use desired::{Desired, Known, desired, networks, too_large};
use session_gauges::SessionGauges;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};
use usnet_common::display::ErrorChain;
use usnet_crds::NetworkName;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::observed::{Observed, PoliciesProblem};
use usnet_dataplane::vpp::policy::memory::Memory;
use usnet_dataplane::vpp::policy::ports::{self, BridgedPorts};
use usnet_dataplane::vpp::policy::{Enforced, enforce, unenforceable};
use usnet_vpp::asynchronous::{Handle, State};

/// The longest time between two rounds.
const INTERVAL: Duration = Duration::from_secs(10);
/// The shortest time between the beginnings of two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a round may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The networks with policies, and why they are not enforced.
pub(super) type ByNetwork = BTreeMap<NetworkName, Option<PoliciesProblem>>;

/// Where policies, networks and pods come from.
#[derive(Debug)]
pub(crate) struct AclSources {
    pub(crate) metrics: Metrics,
    pub(crate) journal: Journal,
    pub(crate) policies: watch::Receiver<KnownPolicies>,
    pub(crate) specs: watch::Receiver<Option<Arc<NodeSpec>>>,
}

/// Keeps access lists, and knows for which networks.
#[derive(Debug, Clone)]
pub(super) struct AclKeeper {
    specs: watch::Receiver<Option<Arc<NodeSpec>>>,
    complete: Arc<watch::Sender<ByNetwork>>,
}

impl AclKeeper {
    pub(super) fn new(sources: &AclSources) -> Self {
        Self { specs: sources.specs.clone(), complete: Arc::new(watch::Sender::new(ByNetwork::new())) }
    }

    /// Subscribes to changes of which networks are enforced.
    pub(super) fn subscribe(&self) -> watch::Receiver<ByNetwork> {
        self.complete.subscribe()
    }

    /// Adds the networks whose policies are not enforced, or not yet.
    pub(super) fn add_to(&self, observed: &mut Observed) {
        observed.unenforced.clear();
        let Some(spec) = self.specs.borrow().clone() else { return };
        let (networks, complete) = (networks(&spec), self.complete.borrow());
        for (name, bridge) in &observed.bridges {
            let network = bridge.network().filter(|network| networks.get(*network) == Some(&true));
            let Some(network) = network else { continue };
            let problem = complete.get(network).cloned().unwrap_or(Some(PoliciesProblem::Pending));
            observed.unenforced.extend(problem.map(|problem| (name.clone(), problem)));
        }
    }

    /// Keeps the access lists of all ports indefinitely.
    pub(super) async fn follow(self, handle: Handle, sources: AclSources) {
        let AclSources { metrics, journal, mut policies, mut specs } = sources;
        let mut states = handle.states();
        let mut gauges = SessionGauges::new(metrics);
        let mut round = Round { handle, pods: Pods::new(journal), memory: Memory::default(), unused: BTreeSet::new() };
        let mut connection = None;
        let mut next = Instant::now();
        loop {
            tokio::select! {
                changed = states.changed() => if changed.is_err() { return },
                changed = policies.changed() => if changed.is_err() { return },
                changed = specs.changed() => if changed.is_err() { return },
                () = sleep_until(next.into()) => {}
            }
            let began = Instant::now();
            next = began + INTERVAL;
            let State::Connected(connected) = states.borrow_and_update().clone() else {
                self.set(ByNetwork::new());
                gauges.clear();
                continue;
            };
            if connection.replace(connected.instance) != Some(connected.instance) {
                round.forget();
            }
            let (spec, known) = (specs.borrow_and_update().clone(), policies.borrow_and_update().clone());
            let Some(spec) = spec else { continue };
            let (networks, is_settled) = round.keep(&spec, &known).await;
            let has_policies = !networks.is_empty();
            self.set(networks);
            match has_policies {
                true => gauges.update(&mut round.handle).await,
                false => gauges.clear(),
            }
            let later = if is_settled { INTERVAL } else { PAUSE };
            next = round.memory.next(began).map_or(began + later, |due| due.min(began + later));
            sleep_until((began + PAUSE).into()).await;
        }
    }

    fn set(&self, networks: ByNetwork) {
        self.complete.send_if_modified(|last| {
            let differs = *last != networks;
            *last = networks;
            differs
        });
    }
}

/// What is remembered from one round to the next.
struct Round {
    handle: Handle,
    pods: Pods,
    memory: Memory,
    /// Access lists of usnet that nothing used.
    unused: BTreeSet<u32>,
}

impl Round {
    /// VPP was started: it has none of what it had.
    fn forget(&mut self) {
        self.memory.clear();
        self.unused.clear();
    }

    /// Returns what the networks with policies have, and whether nothing is left to do.
    async fn keep(&mut self, spec: &NodeSpec, known: &KnownPolicies) -> (ByNetwork, bool) {
        let with_policies: BTreeSet<NetworkName> =
            networks(spec).into_iter().filter(|(_, has_policies)| *has_policies).map(|(name, _)| name).collect();
        let all_have = |problem: PoliciesProblem| -> ByNetwork {
            with_policies.iter().map(|name| (name.clone(), Some(problem.clone()))).collect()
        };
        if let Some(reason) = unenforceable(&self.handle) {
            return (all_have(PoliciesProblem::Unsupported(reason)), true);
        }
        match timeout(TIMEOUT, self.enforce(spec, known)).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => {
                tracing::warn!(error = %ErrorChain(&error), "cannot set the access lists of policies");
                self.memory.clear();
                (all_have(PoliciesProblem::Pending), false)
            }
            Err(_) => {
                tracing::warn!("VPP did not set the access lists of policies within {TIMEOUT:?}");
                self.memory.clear();
                (all_have(PoliciesProblem::Pending), false)
            }
        }
    }

    async fn enforce(&mut self, spec: &NodeSpec, policies: &KnownPolicies) -> Result<(ByNetwork, bool), EngineError> {
        let bridged = ports::read(&mut self.handle).await?;
        let has_policies = networks(spec);
        let of_policies = bridged.values().filter(|port| has_policies.get(&port.network) == Some(&true));
        let attachments: Vec<AttachmentId> = of_policies.map(|port| port.attachment.clone()).collect();
        let all_known = self.pods.update(attachments.iter()).await;
        let now = Instant::now();
        self.memory.retain(|attachment| bridged.values().any(|port| port.attachment == *attachment));
        let known = Known { spec, policies, pods: &self.pods.known };
        let desired = desired(&bridged, &known, &self.memory, now);
        let enforced = enforce(&mut self.handle, &bridged, &desired.ports, &self.unused).await?;
        Ok(self.finish(&bridged, desired, enforced, (all_known, now)))
    }

    fn finish(
        &mut self,
        bridged: &BridgedPorts,
        desired: Desired,
        enforced: Enforced,
        (all_known, now): (bool, Instant),
    ) -> (ByNetwork, bool) {
        let Enforced { problem, too_large: closed, changed, unused } = enforced;
        for (index, port) in bridged {
            match desired.rules.get(index).filter(|_| problem.is_none() && !closed.contains_key(index)) {
                Some(rules) => self.memory.set(&port.attachment, rules, now),
                None => self.memory.forget(&port.attachment),
            }
        }
        let mut networks = desired.networks;
        for (index, why) in closed {
            let network = bridged.get(&index).map(|port| &port.network);
            if let Some(found) = network.and_then(|network| networks.get_mut(network)) {
                *found = Some(too_large(&why));
            }
        }
        if let Some(problem) = &problem {
            tracing::warn!(problem, "VPP did not take the access lists of policies");
            networks.values_mut().for_each(|found| *found = found.take().or(Some(PoliciesProblem::Pending)));
        } else if changed > 0 {
            tracing::debug!(changed, "access lists of policies were set");
        }
        let has_unused = !unused.is_empty() && unused != self.unused;
        self.unused = unused;
        (networks, problem.is_none() && all_known && !has_unused)
    }
}
