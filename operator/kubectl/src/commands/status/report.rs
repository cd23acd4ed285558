//! The state of all of usnet. The controller has already counted networks on nodes: this reads its
//! counts, so the effort does not grow with networks × nodes.

use crate::model::snapshot::{AGENT, CONTROLLER};
use crate::model::{Objects, Pod, Snapshot, Unread};
use serde::Serialize;
use std::collections::BTreeMap;
use usnet_crds::conditions::reason::{NOT_CONNECTED, needs_operator};
use usnet_crds::conditions::{
    DELETION_BLOCKED, METRICS_SERVED, READY, STALLED, Status, engine_connected, find, reason,
};
use usnet_crds::network::NodeFailure;
use usnet_crds::{EngineKind, UserspaceNodeStateStatus};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub version: String,
    pub controllers: Count,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    pub agents: Count,
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Problem {
    /// The object with the problem, such as `network blue`.
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    pub reason: String,
    pub message: String,
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

    fn add(&mut self, needs_action: bool, problem: Problem) {
        if needs_action { &mut self.needs_action } else { &mut self.recovers }.push(problem);
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
    programs(snapshot, &mut report);
    networks(snapshot, &mut report);
    uplinks(snapshot, &mut report);
    for (name, _, state) in cache.nodes_with_states() {
        let status = state.and_then(|_| snapshot.reports.get(name));
        let is_ready = status.is_some_and(|status| is_true(status, READY));
        report.nodes.ready += usize::from(is_ready);
        if let Some(status) = status {
            node(name, status, &mut report);
        }
    }
    report.needs_action.sort();
    report.recovers.sort();
    report.not_connected.sort();
    report
}

fn is_true(status: &UserspaceNodeStateStatus, kind: &str) -> bool {
    find(&status.conditions, kind).is_some_and(|condition| condition.status == Status::True.as_str())
}

fn programs(snapshot: &Snapshot, report: &mut Report) {
    if !snapshot.has_read(Objects::UsnetPods) {
        return;
    }
    let count = |component| {
        let pods: Vec<&Pod> = snapshot.component(component).filter(|pod| !pod.has_ended()).collect();
        Count { ready: pods.iter().filter(|pod| pod.is_ready).count(), total: pods.len() }
    };
    (report.controllers, report.agents) = (count(CONTROLLER), count(AGENT));
    if report.controllers.ready == 0 {
        let message = "no controller is ready, so changes of networks have no effect: kubectl logs -n usnet-system deployment/usnet-controller";
        report.add(true, problem("controllers", "NoController", message));
    } else if snapshot.has_read(Objects::Lease) && snapshot.leader.is_none() {
        let message = "no controller is the leader, so changes of networks have no effect";
        report.add(false, problem("controllers", "NoLeader", message));
    }
    for pod in snapshot.usnet_pods.iter().filter(|pod| !pod.is_ready && !pod.has_ended()) {
        let Some(component) = pod.component.as_deref().filter(|it| [AGENT, CONTROLLER].contains(it)) else { continue };
        let message =
            format!("pod {} is not ready ({}): kubectl logs -n {} {}", pod.name, pod.state(), pod.namespace, pod.name);
        let problem = Problem { node: pod.node.clone(), ..problem(component, "NotReady", &message) };
        report.add(pod.node.is_some() && pod.containers.iter().any(|it| it.restarts > 0), problem);
    }
    let without_agent = snapshot.cache.states.keys().filter(|node| snapshot.agent(node).is_none());
    for node in without_agent {
        let message =
            "the node has no agent, so its networks are not updated: kubectl get daemonset -n usnet-system usnet-agent";
        let problem = Problem { node: Some(node.clone()), ..problem("agent", "NoAgent", message) };
        report.needs_action.push(problem);
    }
}

fn problem(subject: &str, reason: &str, message: &str) -> Problem {
    Problem { subject: subject.to_owned(), node: None, reason: reason.to_owned(), message: message.to_owned() }
}

fn networks(snapshot: &Snapshot, report: &mut Report) {
    for (name, network) in &snapshot.cache.networks {
        report.networks.total += 1;
        let Some(status) = &network.status else { continue };
        report.interfaces.attached += status.attachments;
        report.interfaces.connected += status.connected;
        let (ready, stalled) = (find(&status.conditions, READY), find(&status.conditions, STALLED));
        let is_ready = ready.is_some_and(|ready| ready.status == Status::True.as_str());
        let (networks, subject) = (&mut report.networks, format!("network {name}"));
        match (is_ready, stalled) {
            (true, _) => networks.ready += 1,
            (false, Some(_)) => networks.stalled += 1,
            (false, None) => networks.reconciling += 1,
        }
        failures(report, &subject, &status.failures);
        if let Some(blocked) = find(&status.conditions, DELETION_BLOCKED) {
            report.add(true, problem(&subject, &blocked.reason, &blocked.message));
        } else if status.failures.is_empty()
            && let Some(ready) = ready.filter(|_| !is_ready)
        {
            report.add(stalled.is_some(), problem(&subject, &ready.reason, &ready.message));
        }
    }
}

fn uplinks(snapshot: &Snapshot, report: &mut Report) {
    for (name, uplink) in &snapshot.cache.uplinks {
        let Some(status) = &uplink.status else { continue };
        let subject = format!("uplink {name}");
        failures(report, &subject, &status.failures);
        let not_ready = find(&status.conditions, READY).filter(|ready| ready.status != Status::True.as_str());
        if let Some(ready) = not_ready.filter(|_| status.failures.is_empty()) {
            report.add(find(&status.conditions, STALLED).is_some(), problem(&subject, &ready.reason, &ready.message));
        }
    }
}

fn failures(report: &mut Report, subject: &str, failures: &[NodeFailure]) {
    for NodeFailure { node, reason, message } in failures {
        let problem = Problem { node: Some(node.clone()), ..problem(subject, reason, message) };
        report.add(needs_operator(reason), problem);
    }
}

/// Adds the problems of a node that no network reports.
fn node(name: &str, status: &UserspaceNodeStateStatus, report: &mut Report) {
    if let Some(ready) = find(&status.conditions, READY)
        && [reason::STATE_NOT_WRITABLE, reason::AGENT_FAILED].contains(&ready.reason.as_str())
    {
        let problem = Problem { node: Some(name.to_owned()), ..problem("agent", &ready.reason, &ready.message) };
        report.needs_action.push(problem);
    }
    let unserved = find(&status.conditions, METRICS_SERVED).filter(|it| it.status == Status::False.as_str());
    if let Some(unserved) = unserved {
        let problem = problem("metrics", &unserved.reason, &unserved.message);
        report.needs_action.push(Problem { node: Some(name.to_owned()), ..problem });
    }
    for engine in EngineKind::ALL {
        let down = find(&status.conditions, engine_connected(engine));
        let down = down.filter(|it| it.status == Status::False.as_str() && it.reason != reason::NEVER_SEEN);
        if let Some(down) = down {
            let problem = problem(&format!("engine {engine}"), &down.reason, &down.message);
            report.recovers.push(Problem { node: Some(name.to_owned()), ..problem });
        }
    }
    for network in &status.networks {
        let entry = |entry: &usnet_crds::node_state::DegradedAttachment| NotConnected {
            pod: entry.pod.clone(),
            interface: entry.interface.clone(),
            network: network.name.clone(),
            node: name.to_owned(),
            reason: entry.reason.clone(),
            message: entry.message.clone(),
        };
        report.not_connected.extend(network.degraded.iter().map(entry));
    }
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
