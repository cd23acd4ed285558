//! Records operations for the history of the node: what was done, the cause, and the outcome. A
//! failure that repeats for the same reason is recorded once, and its resolution once. Pure; time
//! is passed in.

use crate::model::health::NetworkHealth;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, NetworkName};
use usnet_dataplane::bridge::DesiredBridge;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::owner::Owner;
use usnet_dataplane::plan::{Op, PlannedOp, RoutingOp};
use usnet_dataplane::port::DesiredPort;
use usnet_dataplane::routing::NetworkGateway;
use usnet_node::history_file::{Cause, Change, Outcome};

/// If one reconcile has more port operations of one kind for one network than this, they become one
/// change of the history: the history is bounded, and a restart of an engine with a thousand ports
/// would remove everything else from it.
const LISTED_SEPARATELY_MAX: usize = 10;

/// The result of one operation.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub planned: PlannedOp,
    pub failure: Option<Failure>,
}

/// Why an operation failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// A text for users.
    pub message: String,
    /// Whether the engine itself refused the operation, so that a part may have been created
    /// before.
    pub is_refusal: bool,
}

impl Failure {
    pub(crate) fn of(error: &OpError) -> Self {
        Self {
            message: error.to_string(),
            is_refusal: matches!(error, OpError::Refused { .. } | OpError::SocketUnusable { .. }),
        }
    }

    /// The failure of all operations when the engine did not answer.
    pub(crate) fn of_all(engine_error: &str) -> Self {
        Self { message: engine_error.to_owned(), is_refusal: false }
    }
}

/// What was observed after the operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation<'a> {
    pub desired: &'a Desired,
    /// The operations that remain to be done.
    pub remaining: &'a [Op],
    pub network_health: &'a BTreeMap<NetworkName, NetworkHealth>,
}

/// One moment, as monotonic time and as wall clock time.
#[derive(Debug, Clone)]
pub(crate) struct Now {
    /// The monotonic time, for durations.
    pub instant: Instant,
    /// The wall clock time, for users.
    pub time: MicroTime,
}

/// A failure that is not resolved yet.
#[derive(Debug)]
struct OpenFailure {
    operation: Op,
    message: String,
    since: Instant,
    /// Whether the history says already that the operation was rolled back.
    is_rolled_back: bool,
}

#[derive(Debug)]
pub(crate) struct HistoryRecorder {
    engine: EngineKind,
    open_failures: BTreeMap<String, OpenFailure>,
}

impl HistoryRecorder {
    pub(crate) fn new(engine: EngineKind) -> Self {
        Self { engine, open_failures: BTreeMap::new() }
    }

    /// The operations with an unresolved failure, by their text.
    pub(crate) fn unresolved(&self) -> BTreeMap<String, Op> {
        self.open_failures.iter().map(|(text, open)| (text.clone(), open.operation.clone())).collect()
    }

    /// Returns the changes of one reconcile for the history, without the generations of networks.
    /// `since` is when the event that triggered the reconcile was seen. Without an observation,
    /// because the engine is down, the effect of the operations is unknown.
    pub(crate) fn changes(
        &mut self,
        attempts: Vec<Attempt>,
        since: Instant,
        observation: Option<Observation<'_>>,
        now: Now,
    ) -> Vec<Change> {
        let Now { instant: now, time } = now;
        if attempts.is_empty() && self.open_failures.is_empty() {
            return Vec::new();
        }
        let mut completed = Vec::new();
        for attempt in attempts {
            if let Some((outcome, took)) = self.outcome(&attempt, since, observation, now) {
                completed.push((attempt.planned.op, attempt.planned.cause.into(), outcome, took));
            }
        }
        if let Some(observation) = observation {
            completed.extend(self.resolved(observation, now));
        }
        aggregate(completed).into_iter().map(|entry| self.change(entry, time.clone())).collect()
    }

    /// Returns the outcome of an operation and how long it took; none if it failed as before.
    fn outcome(
        &mut self,
        attempt: &Attempt,
        since: Instant,
        observation: Option<Observation<'_>>,
        now: Instant,
    ) -> Option<(Outcome, Duration)> {
        let name = attempt.planned.op.to_string();
        let Some(failure) = &attempt.failure else {
            return Some(match self.open_failures.remove(&name) {
                Some(open) => (Outcome::CompletedLater, now.duration_since(open.since)),
                None => (Outcome::Done, now.duration_since(since)),
            });
        };
        let before = self.open_failures.get(&name);
        if before.is_some_and(|open| open.message == failure.message) {
            return None;
        }
        // It still has to be created, so the incomplete bridge or port was removed.
        let creates = matches!(attempt.planned.op, Op::CreatePort { .. } | Op::CreateBridge { .. });
        let is_undone = observation.is_some_and(|observation| observation.remaining.contains(&attempt.planned.op));
        let is_rolled_back = failure.is_refusal && creates && is_undone;
        let first_failed = before.map_or(since, |open| open.since);
        let (operation, message) = (attempt.planned.op.clone(), failure.message.clone());
        let outcome = match is_rolled_back {
            true => Outcome::RolledBack { message: message.clone() },
            false => Outcome::Failed { message: message.clone() },
        };
        self.open_failures.insert(name, OpenFailure { operation, message, since: first_failed, is_rolled_back });
        Some((outcome, now.duration_since(since)))
    }

    /// Returns failures that were resolved without another attempt: the engine completed the
    /// operation by itself or in spite of its answer, or the operation is no longer desired and
    /// nothing of it remains.
    fn resolved(&mut self, observation: Observation<'_>, now: Instant) -> Vec<CompletedOperation> {
        let mut resolved = Vec::new();
        self.open_failures.retain(|_, open| {
            let Some((cause, outcome)) = open.resolution(observation) else { return true };
            let is_recorded = open.is_rolled_back && matches!(outcome, Outcome::RolledBack { .. });
            if !is_recorded {
                resolved.push((open.operation.clone(), cause, outcome, now.duration_since(open.since)));
            }
            false
        });
        resolved
    }

    fn change(&self, entry: HistoryEntry, time: MicroTime) -> Change {
        Change {
            time,
            engine: Some(self.engine),
            network: entry.network,
            attachment: entry.attachment,
            operation: entry.operation,
            cause: entry.cause,
            generation: None,
            milliseconds: u64::try_from(entry.took.as_millis()).unwrap_or(u64::MAX),
            outcome: entry.outcome,
        }
    }
}

impl OpenFailure {
    /// How the failure was resolved; none while something remains to be done about it.
    fn resolution(&self, observation: Observation<'_>) -> Option<(Cause, Outcome)> {
        let is_removal = matches!(self.operation, Op::RemovePort { .. } | Op::RemoveBridge { .. });
        let is_about = |remaining: &Op| match self.operation.attachment() {
            Some(_) => is_same_port(remaining, &self.operation),
            None => {
                let of_same = remaining.network() == self.operation.network();
                remaining.attachment().is_none() && of_same && remaining.uplink() == self.operation.uplink()
            }
        };
        let is_unfinished = observation
            .remaining
            .iter()
            .any(|remaining| *remaining == self.operation || (!is_removal && is_about(remaining)));
        if is_unfinished {
            return None;
        }
        let health = self.operation.network().and_then(|network| observation.network_health.get(network));
        if is_removal {
            Some((Cause::Retry, Outcome::CompletedLater))
        } else if is_desired(&self.operation, observation.desired) {
            let is_done = self.operation.uplink().is_some() || health == Some(&NetworkHealth::PROGRAMMED);
            is_done.then_some((Cause::Retry, Outcome::CompletedLater))
        } else {
            let is_of_pod =
                health.is_some() && is_of_pod(&self.operation) && matches!(self.operation, Op::CreatePort { .. });
            let cause = if is_of_pod { Cause::PodEnded } else { Cause::NewSpec };
            let message = format!("it is no longer desired; {}", self.message);
            Some((cause, Outcome::RolledBack { message }))
        }
    }
}

/// Whether two operations are about the port of one attachment.
fn is_same_port(one: &Op, other: &Op) -> bool {
    one.attachment().is_some_and(|attachment| other.attachment() == Some(attachment))
}

/// Whether the result of this operation is still desired.
fn is_desired(operation: &Op, desired: &Desired) -> bool {
    match operation {
        Op::CreateBridge { bridge: DesiredBridge::Network { network, .. } }
        | Op::TakeOverBridge { bridge: DesiredBridge::Network { network, .. } } => {
            desired.networks.contains_key(network)
        }
        Op::UpdateBridge { bridge: DesiredBridge::Network { network, bridge, .. } } => {
            desired.networks.get(network).is_some_and(|network| network.bridge == *bridge)
        }
        Op::CreateBridge { bridge: DesiredBridge::Uplink { uplink, .. } }
        | Op::TakeOverBridge { bridge: DesiredBridge::Uplink { uplink, .. } }
        | Op::UpdateBridge { bridge: DesiredBridge::Uplink { uplink, .. } }
        | Op::SetAddress { uplink, .. } => desired.uplinks.contains_key(uplink),
        Op::CreatePort { port } | Op::TakeOverPort { port } => is_desired_port(port, desired),
        Op::UpdatePort { port } => match &port.owner.owner {
            Owner::Nic(nic) => desired.uplinks.contains_key(&nic.uplink),
            owner => desired.ports.get(owner).is_some_and(|found| found.settings == port.settings),
        },
        Op::Routing(RoutingOp::SetGateway { gateway }) => {
            let network = desired.networks.get(&gateway.network);
            let is_held = desired.held_gateways.contains(&gateway.network);
            let wanted = network.and_then(|network| NetworkGateway::new(network));
            wanted.is_some_and(|wanted| NetworkGateway { is_held, ..wanted } == *gateway)
        }
        Op::Routing(RoutingOp::CreateTable { network, .. }) => desired.networks.contains_key(network),
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::Routing(_) => false,
    }
}

fn is_desired_port(port: &DesiredPort, desired: &Desired) -> bool {
    match &port.owner.owner {
        Owner::Nic(nic) => desired.uplinks.contains_key(&nic.uplink),
        Owner::Tunnel(tunnel) => {
            desired.tunnels.get(&tunnel.network).is_some_and(|tunnels| tunnels.peers.contains(&tunnel.peer))
        }
        Owner::Attachment(_) => desired.ports.contains_key(&port.owner.owner),
        Owner::Network(_) | Owner::Patch(_) => desired
            .ports
            .get(&port.owner.owner)
            .is_some_and(|found| DesiredPort { policy: port.policy, ..found.clone() } == *port),
    }
}

fn is_of_pod(operation: &Op) -> bool {
    operation.attachment().is_some()
}

/// An operation with an outcome.
type CompletedOperation = (Op, Cause, Outcome, Duration);

/// An entry of the history without its time.
struct HistoryEntry {
    network: Option<String>,
    attachment: Option<String>,
    operation: String,
    cause: Cause,
    outcome: Outcome,
    took: Duration,
}

/// Combines many ports of one network with the same outcome into one entry, see
/// [`LISTED_SEPARATELY_MAX`].
fn aggregate(completed: Vec<CompletedOperation>) -> Vec<HistoryEntry> {
    let mut together: BTreeMap<_, Vec<(Op, Duration)>> = BTreeMap::new();
    let mut order = Vec::new();
    for (operation, cause, outcome, took) in completed {
        let network = operation.network().map(NetworkName::to_string);
        let key = (verb(&operation), network, cause, outcome);
        let group = together.entry(key.clone()).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push((operation, took));
    }
    let mut entries = Vec::new();
    for key in order {
        let operations = together.remove(&key).unwrap_or_default();
        let (verb, network, cause, outcome) = key;
        let entry = |attachment, operation, took| {
            let (network, cause, outcome) = (network.clone(), cause.clone(), outcome.clone());
            HistoryEntry { network, attachment, operation, cause, outcome, took }
        };
        match verb {
            Some(verb) if operations.len() > LISTED_SEPARATELY_MAX => {
                let longest = operations.iter().map(|(_, took)| *took).max().unwrap_or_default();
                entries.push(entry(None, format!("{verb} {} ports", operations.len()), longest));
            }
            _ => entries.extend(operations.into_iter().map(|(operation, took)| {
                entry(operation.attachment().map(ToString::to_string), operation.to_string(), took)
            })),
        }
    }
    entries
}

/// The verb of an operation on a pod's port, which can be combined with others; none for other
/// operations.
fn verb(operation: &Op) -> Option<&'static str> {
    match operation {
        Op::CreatePort { port } => (!matches!(port.owner.owner, Owner::Nic(_) | Owner::Patch(_))).then_some("create"),
        Op::TakeOverPort { .. } => Some("take over"),
        Op::UpdatePort { .. } => is_of_pod(operation).then_some("set"),
        Op::RemovePort { .. } => Some("remove"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
