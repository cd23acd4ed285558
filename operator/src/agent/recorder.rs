//! What one lane puts into the history of its node: what it did, why, and what became of it. What fails again for the same reason is told once, and how it ended.
//! Pure: the clock is the caller's.

use super::guard::{attachment_of, parse_mark};
use super::verify::{Verdict, network_of};
use crate::history::{Change, Outcome, Why};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use usnet_crds::{Engine, NetworkName};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::Op;

/// More port operations of one kind for one network in one pass than this are one change of the history.
const TOLD_ONE_BY_ONE: usize = 10;

/// What called for the operations of one pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    /// Whether the spec is another one than in the last pass.
    pub is_new_spec: bool,
    /// Whether an earlier agent had the same spec: what is missing of that was lost since.
    pub is_inherited: bool,
    /// The engine's restarts, if it was restarted and did not have everything since.
    pub restarted: Option<u64>,
    /// When the event that started the pass was seen.
    pub since: Instant,
}

/// What one operation came to.
#[derive(Debug)]
pub(super) struct Attempt {
    /// The operation.
    pub operation: Op,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// Why an operation failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// For people.
    pub message: String,
    /// Whether the engine itself refused it, so that something may have been made before.
    pub is_refusal: bool,
}

impl Failure {
    /// Of one operation.
    pub(super) fn of(error: &OpError) -> Self {
        Self { message: error.to_string(), is_refusal: matches!(error, OpError::Refused { .. }) }
    }

    /// Of all, because the engine did not answer.
    pub(super) fn of_all(trouble: &str) -> Self {
        Self { message: trouble.to_owned(), is_refusal: false }
    }
}

/// What the engine showed after a pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aftermath<'a> {
    /// What it should have.
    pub desired: &'a Desired,
    /// What is still to be done.
    pub left: &'a [Op],
    /// How far each network is.
    pub verdicts: &'a BTreeMap<NetworkName, Verdict>,
}

/// One moment, for measuring and for people.
#[derive(Debug, Clone)]
pub(super) struct Now {
    /// To measure with.
    pub instant: Instant,
    /// For people.
    pub time: MicroTime,
}

/// What is not over yet.
#[derive(Debug)]
struct Open {
    operation: Op,
    message: String,
    since: Instant,
    /// Whether it was told that nothing of it is left.
    is_rolled_back: bool,
}

/// The memory of one lane.
#[derive(Debug)]
pub(super) struct Recorder {
    engine: Engine,
    open: BTreeMap<String, Open>,
}

impl Recorder {
    /// A lane that did nothing yet.
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, open: BTreeMap::new() }
    }

    /// The changes of a pass, for the history. Without an aftermath, as the engine is gone, it is not known what became of them. They do not know the generations
    /// of their networks.
    pub(super) fn changes(
        &mut self,
        attempts: Vec<Attempt>,
        cause: Cause,
        aftermath: Option<Aftermath<'_>>,
        now: Now,
    ) -> Vec<Change> {
        let Now { instant: now, time } = now;
        if attempts.is_empty() && self.open.is_empty() {
            return Vec::new();
        }
        let wanted: BTreeSet<String> = aftermath
            .map(|aftermath| aftermath.desired.attachments.keys().map(ToString::to_string).collect())
            .unwrap_or_default();
        let mut made = Vec::new();
        for attempt in attempts {
            let is_wanted =
                aftermath.is_none() || attachment_of(&attempt.operation).is_none_or(|id| wanted.contains(&id));
            let why = self.why(&attempt.operation, cause, is_wanted);
            if let Some((outcome, took)) = self.outcome(&attempt, cause, aftermath, now) {
                made.push((attempt.operation, why, outcome, took));
            }
        }
        if let Some(aftermath) = aftermath {
            made.extend(self.ended(aftermath, now));
        }
        gather(made).into_iter().map(|told| self.change(told, time.clone())).collect()
    }

    fn why(&self, operation: &Op, cause: Cause, is_wanted: bool) -> Why {
        if self.open.contains_key(&operation.to_string()) {
            Why::Retry
        } else if matches!(operation, Op::RemovePort { .. }) && !is_wanted {
            Why::PodEnded
        } else if !cause.is_new_spec && self.open.values().any(|open| is_of_one_port(&open.operation, operation)) {
            Why::Retry
        } else if let Some(epoch) = cause.restarted {
            Why::EngineRestarted { epoch }
        } else if !cause.is_new_spec {
            Why::Drift
        } else if cause.is_inherited {
            Why::AgentStarted
        } else {
            Why::NewSpec
        }
    }

    /// None when it failed as before.
    fn outcome(
        &mut self,
        attempt: &Attempt,
        cause: Cause,
        aftermath: Option<Aftermath<'_>>,
        now: Instant,
    ) -> Option<(Outcome, Duration)> {
        let name = attempt.operation.to_string();
        let Some(failure) = &attempt.failure else {
            return Some(match self.open.remove(&name) {
                Some(open) => (Outcome::CompletedLater, now.duration_since(open.since)),
                None => (Outcome::Done, now.duration_since(cause.since)),
            });
        };
        let before = self.open.get(&name);
        if before.is_some_and(|open| open.message == failure.message) {
            return None;
        }
        // What was begun is no more, or it would not have to be made from the beginning.
        let makes = matches!(attempt.operation, Op::CreatePort { .. } | Op::CreateBridge { .. });
        let is_undone = aftermath.is_some_and(|aftermath| aftermath.left.contains(&attempt.operation));
        let is_rolled_back = failure.is_refusal && makes && is_undone;
        let since = before.map_or(cause.since, |open| open.since);
        let (operation, message) = (attempt.operation.clone(), failure.message.clone());
        let outcome = match is_rolled_back {
            true => Outcome::RolledBack { message: message.clone() },
            false => Outcome::Failed { message: message.clone() },
        };
        self.open.insert(name, Open { operation, message, since, is_rolled_back });
        Some((outcome, now.duration_since(cause.since)))
    }

    /// What failed, and is over without another try: the engine did it by itself or in spite of what it answered, or nobody asks for it any more and nothing of it is left.
    fn ended(&mut self, aftermath: Aftermath<'_>, now: Instant) -> Vec<Made> {
        let mut ended = Vec::new();
        self.open.retain(|_, open| {
            let Some((why, outcome)) = open.end(aftermath) else { return true };
            let is_told = open.is_rolled_back && matches!(outcome, Outcome::RolledBack { .. });
            if !is_told {
                ended.push((open.operation.clone(), why, outcome, now.duration_since(open.since)));
            }
            false
        });
        ended
    }

    fn change(&self, told: Told, time: MicroTime) -> Change {
        Change {
            time,
            engine: self.engine,
            network: told.network,
            attachment: told.attachment,
            operation: told.operation,
            why: told.why,
            generation: None,
            milliseconds: u64::try_from(told.took.as_millis()).unwrap_or(u64::MAX),
            outcome: told.outcome,
        }
    }
}

impl Open {
    /// How it ended; none while there is something left to be done about it.
    fn end(&self, aftermath: Aftermath<'_>) -> Option<(Why, Outcome)> {
        let is_removal = matches!(self.operation, Op::RemovePort { .. } | Op::RemoveBridge { .. });
        let is_about = |left: &Op| match attachment_of(&self.operation) {
            Some(_) => is_of_one_port(left, &self.operation),
            None => attachment_of(left).is_none() && network_of(left) == network_of(&self.operation),
        };
        let is_left = aftermath.left.iter().any(|left| *left == self.operation || (!is_removal && is_about(left)));
        if is_left {
            return None;
        }
        let verdict = network_of(&self.operation).and_then(|network| aftermath.verdicts.get(network));
        if is_removal {
            Some((Why::Retry, Outcome::CompletedLater))
        } else if is_asked_for(&self.operation, aftermath.desired) {
            (verdict == Some(&Verdict::PROGRAMMED)).then_some((Why::Retry, Outcome::CompletedLater))
        } else {
            let is_of_pod = verdict.is_some() && matches!(self.operation, Op::CreatePort { .. });
            let why = if is_of_pod { Why::PodEnded } else { Why::NewSpec };
            let message = format!("it is no longer asked for; {}", self.message);
            Some((why, Outcome::RolledBack { message }))
        }
    }
}

/// Whether two operations are about the port of one attachment.
fn is_of_one_port(one: &Op, other: &Op) -> bool {
    attachment_of(one).is_some_and(|attachment| attachment_of(other).as_ref() == Some(&attachment))
}

/// Whether it is still to be as this operation makes it.
fn is_asked_for(operation: &Op, desired: &Desired) -> bool {
    let attachment = |mark: &str| parse_mark(mark).and_then(|id| desired.attachments.get(&id));
    match operation {
        Op::CreateBridge { network, .. } => desired.networks.contains_key(network),
        Op::UpdateBridge { network, bridge } => {
            desired.networks.get(network).is_some_and(|network| network.bridge == *bridge)
        }
        Op::CreatePort { attachment, .. } => desired.attachments.contains_key(attachment),
        Op::UpdatePort { owner, settings, .. } => {
            attachment(&owner.attachment).is_some_and(|attachment| attachment.port.settings == *settings)
        }
        Op::RemovePort { .. } | Op::RemoveBridge { .. } => false,
    }
}

/// An operation that came to something.
type Made = (Op, Why, Outcome, Duration);

/// A line of the history.
struct Told {
    network: Option<String>,
    attachment: Option<String>,
    operation: String,
    why: Why,
    outcome: Outcome,
    took: Duration,
}

/// Many ports of one network that shared one fate are told of together: a thousand lines would push all else out of the history.
fn gather(made: Vec<Made>) -> Vec<Told> {
    let mut together: BTreeMap<_, Vec<(Op, Duration)>> = BTreeMap::new();
    let mut order = Vec::new();
    for (operation, why, outcome, took) in made {
        let network = network_of(&operation).map(NetworkName::to_string);
        let key = (verb(&operation), network, why, outcome);
        let group = together.entry(key.clone()).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push((operation, took));
    }
    let mut told = Vec::new();
    for key in order {
        let operations = together.remove(&key).unwrap_or_default();
        let (verb, network, why, outcome) = key;
        let tell = |attachment, operation, took| {
            let (network, why, outcome) = (network.clone(), why.clone(), outcome.clone());
            Told { network, attachment, operation, why, outcome, took }
        };
        match verb {
            Some(verb) if operations.len() > TOLD_ONE_BY_ONE => {
                let longest = operations.iter().map(|(_, took)| *took).max().unwrap_or_default();
                told.push(tell(None, format!("{verb} {} ports", operations.len()), longest));
            }
            _ => told.extend(
                operations
                    .into_iter()
                    .map(|(operation, took)| tell(attachment_of(&operation), operation.to_string(), took)),
            ),
        }
    }
    told
}

/// What is done to a port; none for what is done to a bridge.
fn verb(operation: &Op) -> Option<&'static str> {
    match operation {
        Op::CreatePort { .. } => Some("create"),
        Op::UpdatePort { .. } => Some("set"),
        Op::RemovePort { .. } => Some("remove"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
