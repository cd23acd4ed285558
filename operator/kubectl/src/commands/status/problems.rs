//! Problems, grouped by their causes: an engine that does not work is one problem, not one of each
//! of its networks, and a network that no node can have is one, not one of each node. Pure.

use crate::output::count;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::EngineKind;
use usnet_crds::conditions::reason::{ENGINE_UNSUITABLE, UPLINK_NOT_READY, may_end_by_itself};
use usnet_crds::conditions::{ACCEPTED, STALLED, Status, find};
use usnet_crds::network::NodeFailure;

/// More objects than this with the same problem on the same nodes are one row.
const ALONE_MAX: usize = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Problem {
    /// What has the problem, such as `network blue` or `engine Open vSwitch`.
    pub subject: String,
    pub reason: String,
    /// The nodes where it has the problem; none if that is no matter of nodes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub nodes: BTreeSet<String>,
    /// The networks that have a problem because of it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub networks: BTreeSet<String>,
    /// The pods that it concerns, as namespace/name; each node names at most 100.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub pods: BTreeSet<String>,
    /// The message of the first node.
    pub message: String,
}

impl Problem {
    pub(super) fn of(subject: &str, reason: &str, message: &str) -> Self {
        let (subject, reason, message) = (subject.to_owned(), reason.to_owned(), message.to_owned());
        Self { subject, reason, message, ..Self::default() }
    }

    /// The problem on these nodes.
    pub(super) fn on<T: AsRef<str>>(self, nodes: impl IntoIterator<Item = T>) -> Self {
        Self { nodes: nodes.into_iter().map(|node| node.as_ref().to_owned()).collect(), ..self }
    }

    /// The problem in one line, without its message.
    pub(super) fn headline(&self) -> String {
        let nodes: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
        let on = match nodes.as_slice() {
            [] => String::new(),
            [one] => format!(" on {one}"),
            [first, second] => format!(" on 2 nodes ({first}, {second})"),
            [first, second, ..] => format!(" on {} ({first}, {second}, …)", count(nodes.len(), "node")),
        };
        let concerned = [(self.networks.len(), "network"), (self.pods.len(), "pod")];
        let concerned = concerned.into_iter().filter(|(number, _)| *number > 0);
        let concerned: Vec<String> = concerned.map(|(number, noun)| count(number, noun)).collect();
        let concerned = if concerned.is_empty() { String::new() } else { format!(": {}", concerned.join(", ")) };
        format!("{}: {}{on}{concerned}", self.subject, self.reason)
    }

    fn merge(&mut self, other: Self) {
        // The message is that of the first node.
        if other.nodes.first() < self.nodes.first() {
            self.message = other.message;
        }
        self.nodes.extend(other.nodes);
        self.networks.extend(other.networks);
        self.pods.extend(other.pods);
    }
}

/// What fails on nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    /// `network`, `uplink` or `UserspaceEngine`.
    pub kind: &'static str,
    pub name: &'a str,
    pub engine: Option<EngineKind>,
    /// The uplink of a network.
    pub uplink: Option<&'a str>,
}

impl Owner<'_> {
    pub(super) fn subject(self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

/// Whether an operator has to act, the subject, and the reason.
type Cause = (bool, String, String);

/// The failures of networks that a problem explains: the node, their reason, and the engine or the
/// uplink of these networks.
type Explained = (String, String, Option<String>);

#[derive(Debug)]
pub(super) struct Problems {
    now: Timestamp,
    found: BTreeMap<Cause, Problem>,
    explained: BTreeMap<Explained, (String, String)>,
}

impl Problems {
    pub(super) const fn at(now: Timestamp) -> Self {
        Self { now, found: BTreeMap::new(), explained: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, needs_action: bool, problem: Problem) {
        let cause = (needs_action, problem.subject.clone(), problem.reason.clone());
        match self.found.get_mut(&cause) {
            Some(known) => known.merge(problem),
            None => drop(self.found.insert(cause, problem)),
        }
    }

    /// Adds a problem that a condition reports, with its reason and message.
    pub(super) fn add_condition(&mut self, condition: &Condition, problem: Problem) {
        let problem = Problem { reason: condition.reason.clone(), message: condition.message.clone(), ..problem };
        self.add(!may_end_by_itself(&condition.reason, self.age(condition)), problem);
    }

    /// Adds a network or uplink that is not ready, not only on some nodes.
    pub(super) fn add_not_ready(&mut self, subject: &str, ready: &Condition, all: &[Condition]) {
        let problem = Problem::of(subject, &ready.reason, &ready.message);
        match find(all, ACCEPTED).is_some_and(|accepted| accepted.status == Status::False.as_str()) {
            // Otherwise it waits for another object that is being deleted.
            true => self.add(find(all, STALLED).is_some(), problem),
            false => self.add_condition(ready, problem),
        }
    }

    /// The failures of networks on this node with this reason, all or of one engine, come from this
    /// problem, which is added for itself.
    pub(super) fn explain(&mut self, node: &str, reason: &str, engine: Option<EngineKind>, cause: (&str, &str)) {
        let explained = (node.to_owned(), reason.to_owned(), engine.map(|engine| engine.to_string()));
        self.explained.insert(explained, (cause.0.to_owned(), cause.1.to_owned()));
    }

    /// The failures of networks of this uplink on this node come from the failure of the uplink.
    pub(super) fn explain_uplink(&mut self, node: &str, uplink: &str, cause: (&str, &str)) {
        let explained = (node.to_owned(), UPLINK_NOT_READY.to_owned(), Some(uplink.to_owned()));
        self.explained.insert(explained, (cause.0.to_owned(), cause.1.to_owned()));
    }

    /// Adds the failures of a network or uplink; `ready` is its condition Ready.
    pub(super) fn add_failures(&mut self, owner: Owner<'_>, failures: &[NodeFailure], ready: Option<&Condition>) {
        let age = ready.map_or(0, |ready| self.age(ready));
        for failure in failures {
            if self.is_explained(owner, failure) {
                continue;
            }
            let NodeFailure { node, reason, message } = failure;
            // The same for all networks of such ports.
            let of_engine = owner.engine.filter(|_| reason == ENGINE_UNSUITABLE).map(|it| format!("engine {it}"));
            let networks = of_engine.iter().map(|_| owner.name.to_owned()).collect();
            let subject = of_engine.unwrap_or_else(|| owner.subject());
            let problem = Problem { networks, ..Problem::of(&subject, reason, message).on([node]) };
            self.add(!may_end_by_itself(reason, age), problem);
        }
    }

    /// Counts the network for the problem that explains its failure.
    fn is_explained(&mut self, owner: Owner<'_>, failure: &NodeFailure) -> bool {
        let of = |part: Option<String>| (failure.node.clone(), failure.reason.clone(), part);
        let parts = [None, owner.engine.map(|engine| engine.to_string()), owner.uplink.map(str::to_owned)];
        let cause = parts.into_iter().find_map(|part| self.explained.get(&of(part)));
        let Some((subject, reason)) = cause else { return false };
        let is_cause =
            |it: &&mut Problem| it.subject == *subject && it.reason == *reason && it.nodes.contains(&failure.node);
        let Some(problem) = self.found.values_mut().find(is_cause) else { return false };
        if owner.kind == "network" {
            problem.networks.insert(owner.name.to_owned());
        }
        true
    }

    fn age(&self, condition: &Condition) -> i64 {
        seconds_between(condition.last_transition_time.0, self.now)
    }

    /// The problems that need action, and those that end by themselves; those of many nodes first.
    pub(super) fn grouped(self) -> (Vec<Problem>, Vec<Problem>) {
        let (action, other): (Vec<_>, Vec<_>) =
            self.found.into_iter().partition(|((needs_action, ..), _)| *needs_action);
        let problems = |found: Vec<(Cause, Problem)>| {
            let mut problems = merge_alike(found.into_iter().map(|(_, problem)| problem));
            problems.sort_by_cached_key(|it| (rank(&it.subject), std::cmp::Reverse(it.nodes.len()), it.clone()));
            problems
        };
        (problems(action), problems(other))
    }
}

/// What explains others comes first.
fn rank(subject: &str) -> usize {
    const KINDS: [&str; 6] = ["controller", "agent", "UserspaceEngine", "engine", "uplink", "network"];
    KINDS.iter().position(|kind| subject.starts_with(kind)).unwrap_or(KINDS.len())
}

/// Makes one row of many objects of a kind that have the same problem on the same nodes.
fn merge_alike(problems: impl Iterator<Item = Problem>) -> Vec<Problem> {
    let mut alike: BTreeMap<(String, String, BTreeSet<String>), Vec<Problem>> = BTreeMap::new();
    for problem in problems {
        let kind = problem.subject.split(' ').next().unwrap_or_default().to_owned();
        alike.entry((kind, problem.reason.clone(), problem.nodes.clone())).or_default().push(problem);
    }
    let merged = |((kind, ..), mut group): ((String, _, _), Vec<Problem>)| {
        if group.len() <= ALONE_MAX {
            return group;
        }
        let total = group.len();
        let name = |problem: &Problem| problem.subject.trim_start_matches(&kind).trim().to_owned();
        let names: Vec<String> = group.iter().take(ALONE_MAX).map(name).collect();
        group.truncate(1);
        for problem in &mut group {
            problem.subject = format!("{total} {kind}s ({}, …)", names.join(", "));
        }
        group
    };
    alike.into_iter().flat_map(merged).collect()
}

/// The seconds from one time to another; negative if that is before it, as on another clock.
pub(super) fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs()
}
