//! The state of all of usnet. The controller has already counted networks on nodes: this reads its
//! counts, and the reports of nodes only of networks that fail on many.

use super::problems::{Owner, Problem, Problems, seconds_between};
use crate::model::placements::{Placement, placements};
use crate::model::snapshot::{AGENT, CONTROLLER, POLICIES};
use crate::model::{Objects, Pod, Snapshot, Unread};
use serde::Serialize;
use std::collections::BTreeMap;
use usnet_controller::cache::Network;
use usnet_controller::status::tally::NodeProgress;
use usnet_crds::conditions::reason::{ENGINE_UNREACHABLE, NOT_CONNECTED};
use usnet_crds::conditions::{
    CONFIGURATIONS_ACCEPTED, DEGRADED, DELETION_BLOCKED, METRICS_SERVED, READY, STALLED, Status, engine_connected,
    find, reason,
};
use usnet_crds::network::NodeFailure;
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::userspace_engine::status::EngineNodeProblem;
use usnet_crds::{EngineKind, UserspaceNetworkStatus, UserspaceNodeStateStatus, UserspaceUplinkStatus};

/// How long controllers may take until one of them leads, in seconds.
const ELECTION: i64 = 60;
/// How long a pod of usnet may take to start, in seconds.
const STARTS: i64 = 300;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub version: String,
    pub controllers: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    pub agents: Count,
    /// The controller of policies; none if it is neither there nor needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Count>,
    pub networks: Networks,
    pub nodes: Count,
    pub engines: Vec<Engine>,
    pub interfaces: Interfaces,
    pub needs_action: Vec<Problem>,
    pub recovers: Vec<Problem>,
    pub not_connected: Vec<NotConnected>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Count {
    pub ready: usize,
    pub total: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Networks {
    pub total: usize,
    pub ready: usize,
    pub reconciling: usize,
    pub stalled: usize,
}

/// An engine on all nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Engine {
    pub engine: EngineKind,
    /// The number of nodes with each version.
    pub versions: BTreeMap<String, usize>,
    /// The nodes whose engine is not connected any more.
    pub lost: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Interfaces {
    pub attached: i64,
    pub connected: i64,
}

/// An attached interface without a connected program, or with another problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NotConnected {
    pub pod: String,
    pub interface: String,
    pub network: String,
    pub node: String,
    pub reason: String,
    pub message: String,
}

impl Report {
    pub(crate) fn is_ok(&self) -> bool {
        self.needs_action.is_empty() && self.recovers.is_empty() && self.not_connected.is_empty()
    }
}

pub(crate) fn report(snapshot: &Snapshot) -> Report {
    let cache = &snapshot.cache;
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        leader: snapshot.leader.clone(),
        nodes: Count { ready: 0, total: cache.nodes.len() },
        engines: engines(snapshot),
        not_read: snapshot.unread.clone(),
        ..Report::default()
    };
    let mut problems = Problems::at(snapshot.now);
    programs(snapshot, &mut report, &mut problems);
    nodes(snapshot, &mut report, &mut problems);
    user_engines(snapshot, &mut problems);
    uplinks(snapshot, &mut problems);
    networks(snapshot, &mut report, &mut problems);
    (report.needs_action, report.recovers) = problems.grouped();
    report.not_connected.sort();
    report
}

fn is_true(status: &UserspaceNodeStateStatus, kind: &str) -> bool {
    find(&status.conditions, kind).is_some_and(|condition| condition.status == Status::True.as_str())
}

fn programs(snapshot: &Snapshot, report: &mut Report, problems: &mut Problems) {
    if !snapshot.has_read(Objects::UsnetPods) {
        return;
    }
    let count = |component| {
        let pods: Vec<&Pod> = snapshot.component(component).filter(|pod| !pod.has_ended()).collect();
        Count { ready: pods.iter().filter(|pod| pod.is_ready).count(), total: pods.len() }
    };
    (report.controllers, report.agents) = (count(CONTROLLER), count(AGENT));
    let of_policies = count(POLICIES);
    let needs_policies = snapshot.cache.networks.values().any(has_policies);
    if needs_policies && of_policies.ready == 0 {
        let message = "no controller of policies is ready, so changes of policies and labels have no effect: is config/components/policies installed (docs/policies.md)? kubectl logs -n usnet-system deployment/usnet-policies";
        problems.add(true, Problem::of("policies", "NoController", message));
    }
    report.policies = Some(of_policies).filter(|found| needs_policies || found.total > 0);
    let is_young =
        |pod: &Pod, seconds| pod.created.is_none_or(|created| seconds_between(created, snapshot.now) < seconds);
    if report.controllers.ready == 0 {
        let message = "no controller is ready, so changes of networks have no effect: kubectl logs -n usnet-system deployment/usnet-controller";
        problems.add(true, Problem::of("controllers", "NoController", message));
    } else if snapshot.has_read(Objects::Lease) && snapshot.leader.is_none() {
        let message = "no controller is the leader, so changes of networks have no effect: kubectl logs -n usnet-system deployment/usnet-controller";
        let is_starting = snapshot.component(CONTROLLER).any(|pod| is_young(pod, ELECTION));
        problems.add(!is_starting, Problem::of("controllers", "NoLeader", message));
    }
    for pod in snapshot.usnet_pods.iter().filter(|pod| !pod.is_ready && !pod.has_ended()) {
        let Some(component) = pod.component.as_deref().filter(|it| [AGENT, CONTROLLER, POLICIES].contains(it)) else {
            continue;
        };
        let message =
            format!("pod {} is not ready ({}): kubectl logs -n {} {}", pod.name, pod.state(), pod.namespace, pod.name);
        let has_restarted = pod.node.is_some() && pod.containers.iter().any(|it| it.restarts > 0);
        let problem = Problem::of(component, "NotReady", &message).on(pod.node.iter());
        problems.add(has_restarted || !is_young(pod, STARTS), problem);
    }
    for node in snapshot.cache.states.keys().filter(|node| snapshot.agent(node).is_none()) {
        let message =
            "the node has no agent, so its networks are not updated: kubectl get daemonset -n usnet-system usnet-agent";
        problems.add(true, Problem::of("agent", "NoAgent", message).on([node]));
    }
}

fn has_policies(network: &Network) -> bool {
    network.spec.as_ref().is_ok_and(|spec| spec.policies.are_enabled())
}

fn nodes(snapshot: &Snapshot, report: &mut Report, problems: &mut Problems) {
    for (name, node, state) in snapshot.cache.nodes_with_states() {
        let Some(status) = state.and_then(|_| snapshot.reports.get(name)) else { continue };
        report.nodes.ready += usize::from(node.is_ready && is_true(status, READY));
        of_node(name, status, problems);
        report.not_connected.extend(interfaces(name, status));
    }
    without_memory(snapshot, &report.not_connected, problems);
}

/// Adds the problems of a node that no network reports.
fn of_node(name: &str, status: &UserspaceNodeStateStatus, problems: &mut Problems) {
    if let Some(ready) = find(&status.conditions, READY)
        && [reason::STATE_NOT_WRITABLE, reason::AGENT_FAILED].contains(&ready.reason.as_str())
    {
        problems.add(true, Problem::of("agent", &ready.reason, &ready.message).on([name]));
        problems.explain(name, reason::STATE_NOT_WRITABLE, None, ("agent", &ready.reason));
    }
    for (kind, subject) in [(METRICS_SERVED, "metrics"), (CONFIGURATIONS_ACCEPTED, "CNI configurations")] {
        let found = find(&status.conditions, kind).filter(|it| it.status == Status::False.as_str());
        if let Some(found) = found {
            problems.add(true, Problem::of(subject, &found.reason, &found.message).on([name]));
        }
    }
    for engine in EngineKind::ALL {
        let down = find(&status.conditions, engine_connected(engine));
        let down = down.filter(|it| it.status == Status::False.as_str() && it.reason != reason::NEVER_SEEN);
        if let Some(down) = down {
            let subject = format!("engine {engine}");
            let pods =
                status.affected_pods.iter().filter(|pod| pod.engine == engine && pod.reason == ENGINE_UNREACHABLE);
            let pods = pods.map(|pod| pod.pod.clone());
            problems.add_condition(down, Problem { pods: pods.collect(), ..Problem::of(&subject, "", "").on([name]) });
            problems.explain(name, ENGINE_UNREACHABLE, Some(engine), (&subject, &down.reason));
        }
    }
}

fn interfaces<'a>(node: &'a str, status: &'a UserspaceNodeStateStatus) -> impl Iterator<Item = NotConnected> + use<'a> {
    let entries =
        status.networks.iter().flat_map(|network| network.degraded.iter().map(|entry| (&network.name, entry)));
    entries.map(|(network, entry)| NotConnected {
        pod: entry.pod.clone(),
        interface: entry.interface.clone(),
        network: network.clone(),
        node: node.to_owned(),
        reason: entry.reason.clone(),
        message: entry.message.clone(),
    })
}

/// An engine without memory for the ports of pods: a problem of the engine, not of each pod.
fn without_memory(snapshot: &Snapshot, interfaces: &[NotConnected], problems: &mut Problems) {
    for entry in interfaces.iter().filter(|entry| entry.reason == reason::NO_MEMORY) {
        let subject =
            engine_of(snapshot, &entry.network).map_or_else(|| "engine".to_owned(), |it| format!("engine {it}"));
        let remedy = reason::find(reason::NO_MEMORY).map_or("", |reason| reason.remedy);
        let pods = [entry.pod.clone()].into();
        let networks = [entry.network.clone()].into();
        let problem = Problem { pods, networks, ..Problem::of(&subject, reason::NO_MEMORY, remedy).on([&entry.node]) };
        problems.add(true, problem);
    }
}

fn engine_of(snapshot: &Snapshot, network: &str) -> Option<EngineKind> {
    Some(snapshot.cache.networks.get(network)?.spec.as_ref().ok()?.engine)
}

fn networks(snapshot: &Snapshot, report: &mut Report, problems: &mut Problems) {
    for (name, network) in &snapshot.cache.networks {
        report.networks.total += 1;
        let Some(status) = &network.status else { continue };
        report.interfaces.attached += status.attachments;
        report.interfaces.connected += status.connected;
        let (ready, stalled) = (find(&status.conditions, READY), find(&status.conditions, STALLED));
        let is_ready = ready.is_some_and(|ready| ready.status == Status::True.as_str());
        let networks = &mut report.networks;
        match (is_ready, stalled) {
            (true, _) => networks.ready += 1,
            (false, Some(_)) => networks.stalled += 1,
            (false, None) => networks.reconciling += 1,
        }
        let failures = all_failures(snapshot, name, status);
        let owner =
            Owner { kind: "network", name, engine: engine_of(snapshot, name), uplink: uplink_of(snapshot, name) };
        problems.add_failures(owner, &failures, ready);
        if let Some(blocked) = find(&status.conditions, DELETION_BLOCKED) {
            problems.add(true, Problem::of(&owner.subject(), &blocked.reason, &blocked.message));
        } else if let Some(ready) = ready.filter(|_| !is_ready && failures.is_empty()) {
            problems.add_not_ready(&owner.subject(), ready, &status.conditions);
        }
    }
}

/// The failures of a network; where its status has only some of them, from the reports of nodes.
fn all_failures(snapshot: &Snapshot, name: &str, status: &UserspaceNetworkStatus) -> Vec<NodeFailure> {
    let is_complete = usize::try_from(status.nodes.failed).unwrap_or_default() <= status.failures.len();
    if is_complete || !snapshot.has_read(Objects::Compiled) {
        return status.failures.clone();
    }
    let failure = |placement: &Placement<'_>| match placement.progress {
        Some(NodeProgress::Failed { reason, message }) => Some(NodeFailure {
            node: placement.node.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }),
        _ => None,
    };
    placements(snapshot, name).iter().filter_map(failure).collect()
}

fn uplink_of<'a>(snapshot: &'a Snapshot, network: &str) -> Option<&'a str> {
    Some(snapshot.cache.compiled.get(network)?.selection.as_ref()?.uplink_name()?.as_str())
}

/// Adds what UserspaceEngines report, but for what the agent of the node says as well: that is a
/// problem of the engine.
fn user_engines(snapshot: &Snapshot, problems: &mut Problems) {
    for (name, object) in &snapshot.engines {
        let owner = Owner { kind: "UserspaceEngine", name, engine: None, uplink: None };
        let ready = object.condition(READY);
        let kind = engine_connected(object.spec.engine);
        let is_reported = |node: &str, reason: &str| {
            let condition = snapshot.reports.get(node).and_then(|report| find(&report.conditions, kind));
            condition.is_some_and(|it| it.status == Status::False.as_str() && it.reason == reason)
        };
        let of_nodes = object.status.problems.iter();
        let failures: Vec<NodeFailure> = of_nodes
            .filter(|problem| !is_reported(&problem.node, &problem.reason))
            .map(|EngineNodeProblem { node, reason, message }| NodeFailure {
                node: node.clone(),
                reason: reason.clone(),
                message: message.clone(),
            })
            .collect();
        problems.add_failures(owner, &failures, ready);
        let not_ready = ready.filter(|ready| ready.status != Status::True.as_str());
        if let Some(ready) = not_ready.filter(|_| object.status.problems.is_empty()) {
            problems.add_not_ready(&owner.subject(), ready, &object.status.conditions);
        }
    }
}

fn uplinks(snapshot: &Snapshot, problems: &mut Problems) {
    for (name, uplink) in &snapshot.cache.uplinks {
        let Some(status) = &uplink.status else { continue };
        let engine = uplink.spec.as_ref().ok().map(|valid| valid.engine);
        let owner = Owner { kind: "uplink", name, engine, uplink: None };
        let ready = find(&status.conditions, READY);
        let failures = uplink_failures(snapshot, name, status);
        problems.add_failures(owner, &failures, ready);
        for failure in &failures {
            problems.explain_uplink(&failure.node, name, (&owner.subject(), &failure.reason));
        }
        let not_ready = ready.filter(|ready| ready.status != Status::True.as_str());
        if let Some(ready) = not_ready.filter(|_| failures.is_empty()) {
            problems.add_not_ready(&owner.subject(), ready, &status.conditions);
        }
        if let Some(degraded) = find(&status.conditions, DEGRADED) {
            problems.add_condition(degraded, Problem::of(&owner.subject(), &degraded.reason, &degraded.message));
        }
    }
}

/// The failures of an uplink; where its status has only some of them, from the reports of nodes.
fn uplink_failures(snapshot: &Snapshot, name: &str, status: &UserspaceUplinkStatus) -> Vec<NodeFailure> {
    if usize::try_from(status.nodes.failed).unwrap_or_default() <= status.failures.len() {
        return status.failures.clone();
    }
    let ready = snapshot.cache.nodes.iter().filter(|(_, node)| node.is_ready);
    let reports = ready.filter_map(|(node, _)| Some((node, &snapshot.reports.get(node)?.uplinks)));
    let failed = reports.flat_map(|(node, uplinks)| uplinks.iter().map(move |uplink| (node, uplink)));
    failed
        .filter(|(_, uplink)| uplink.name == name && uplink.state == UplinkState::Failed)
        .map(|(node, uplink)| NodeFailure {
            node: node.clone(),
            reason: uplink.reason.clone(),
            message: uplink.message.clone(),
        })
        .collect()
}

fn engines(snapshot: &Snapshot) -> Vec<Engine> {
    let engine = |engine: EngineKind| {
        let mut found = Engine { engine, versions: BTreeMap::new(), lost: Vec::new() };
        for (node, status) in &snapshot.reports {
            if let Some(report) = status.engines.iter().find(|report| report.engine == engine) {
                *found.versions.entry(report.version.clone()).or_default() += 1;
            } else if find(&status.conditions, engine_connected(engine)).is_some_and(|condition| {
                condition.status == Status::False.as_str() && condition.reason != reason::NEVER_SEEN
            }) {
                found.lost.push(node.clone());
            }
        }
        found
    };
    let all = EngineKind::ALL.into_iter().map(engine);
    all.filter(|engine| !engine.versions.is_empty() || !engine.lost.is_empty()).collect()
}

impl NotConnected {
    /// Whether the program is not connected; otherwise the interface has another problem.
    pub(crate) fn is_unconnected(&self) -> bool {
        self.reason == NOT_CONNECTED
    }
}
