//! The causes of problems on a node, those of the whole node first.

use super::engines;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::{remedy, remedy_for};
use crate::commands::shared::join_first;
use crate::model::snapshot::CONTROLLER;
use crate::model::{Objects, Pod, Snapshot};
use std::collections::BTreeMap;
use usnet_controller::cache::NodeState;
use usnet_crds::conditions::reason::{self, AGENT_FAILED, NEVER_SEEN, NOT_CONNECTED, Place, STATE_NOT_WRITABLE};
use usnet_crds::conditions::{CONFIGURATIONS_ACCEPTED, METRICS_SERVED, READY, Status, engine_connected, find};
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::uplink::report::UplinkState;
use usnet_crds::{EngineKind, UserspaceNodeStateStatus};

/// An agent with this many restarts is reported as crashing.
const RESTARTS: i32 = 3;
/// The maximum number of interfaces in a sentence.
const NAMED: usize = 5;

pub(crate) fn causes(snapshot: &Snapshot, name: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = [not_ready(snapshot, name), agent(snapshot, name)].into_iter().flatten().collect();
    let state = snapshot.cache.nodes_with_states().find(|(node, _, _)| *node == name).and_then(|(_, _, state)| state);
    found.extend(no_state(state));
    let Some(status) = state.and_then(|_| snapshot.reports.get(name)) else { return found };
    found.extend(state.and_then(labels));
    found.extend(files(status));
    let of_objects = engines::problems(snapshot, name);
    let is_explained = |engine: &EngineKind| of_objects.iter().any(|(explained, _)| explained == engine);
    let others = EngineKind::ALL.into_iter().filter(|engine| !is_explained(engine));
    found.extend(others.filter_map(|engine| engine_down(snapshot, name, status, engine)));
    found.extend(of_objects.into_iter().map(|(_, finding)| finding));
    let is_up = |report: &&NetworkReport| report.reason != "EngineUnreachable";
    found.extend(networks(status.networks.iter().filter(is_up)));
    found.extend(status.uplinks.iter().filter(|uplink| uplink.state == UplinkState::Failed).map(|uplink| {
        Finding::new(&uplink.reason, uplink.message.clone(), remedy(&uplink.reason))
            .of(format!("uplink {}", uplink.name))
    }));
    found.extend(status.networks.iter().filter_map(interfaces));
    found.extend(beside_networks(status));
    found
}

fn not_ready(snapshot: &Snapshot, name: &str) -> Option<Finding> {
    let is_ready = snapshot.cache.nodes.get(name)?.is_ready || !snapshot.has_read(Objects::Nodes);
    let why = "Kubernetes reports the node as NotReady: what its agent reported last may be outdated";
    (!is_ready).then(|| Finding::new("NodeNotReady", why, format!("kubectl describe node {name}")))
}

fn agent(snapshot: &Snapshot, name: &str) -> Option<Finding> {
    if !snapshot.has_read(Objects::UsnetPods) {
        return None;
    }
    let Some(agent) = snapshot.agent(name) else {
        let why = "it has no agent: its networks and pods stay as they are, and nothing new is programmed";
        let remedy =
            "kubectl describe daemonset -n usnet-system usnet-agent: its nodeSelector, and events of the scheduler";
        return Some(Finding::new("NoAgent", why, remedy));
    };
    if agent.is_ready {
        return outdated(snapshot, agent);
    }
    let Pod { namespace, name, .. } = agent;
    let restarts = agent.containers.iter().map(|container| container.restarts).max().unwrap_or_default();
    let waiting = agent.containers.iter().find(|container| !container.is_running);
    let (cause, why) = match waiting {
        Some(container) if restarts >= RESTARTS => (
            "AgentCrashes",
            format!("container {} of its agent has restarted {restarts} times ({})", container.name, agent.state()),
        ),
        Some(container) => {
            ("AgentNotStarted", format!("container {} of its agent is not running ({})", container.name, agent.state()))
        }
        None => ("AgentNotReady", "its agent is running but has not programmed the node yet".to_owned()),
    };
    let remedy = format!(
        "kubectl describe pod -n {namespace} {name}; kubectl logs -n {namespace} {name} --all-containers --previous"
    );
    Some(Finding::new(cause, why, remedy))
}

/// Finds an agent of another release than that of the controllers.
fn outdated(snapshot: &Snapshot, agent: &Pod) -> Option<Finding> {
    let image = &agent.container("agent")?.image;
    let of_controllers: Vec<&String> = snapshot
        .component(CONTROLLER)
        .filter(|pod| !pod.has_ended())
        .filter_map(|pod| Some(&pod.container(CONTROLLER)?.image))
        .collect();
    let differs = !of_controllers.is_empty() && !of_controllers.contains(&image);
    let why = format!("its agent has image {image}, but the controllers have {}", of_controllers.first()?);
    let remedy =
        "use the same release for controllers and agents: kubectl rollout status -n usnet-system daemonset/usnet-agent";
    differs.then(|| Finding::new("AgentOutdated", why, remedy))
}

fn no_state(state: Option<&NodeState>) -> Option<Finding> {
    match state {
        None => {
            let why = "it has no UserspaceNodeState, which the controller creates for each node";
            let remedy = "check the controllers: kubectl logs -n usnet-system deployment/usnet-controller";
            Some(Finding::new("NoNodeState", why, remedy))
        }
        Some(state) if state.status.is_none() => {
            let why = "its agent has reported nothing since the node joined";
            Some(Finding::new(
                "NeverReported",
                why,
                "check the log of the agent of this node, and its rights: kubectl get clusterrolebinding usnet-agent",
            ))
        }
        Some(_) => None,
    }
}

/// Finds an agent that selects networks by outdated labels.
fn labels(state: &NodeState) -> Option<Finding> {
    let is_old = state.status.is_some() && !state.is_observed();
    let why = "its agent has not read the last change of the node's labels";
    let remedy = "wait; if this persists, check the log of the agent of this node";
    is_old.then(|| Finding::new("LabelsNotObserved", why, remedy))
}

fn files(status: &UserspaceNodeStateStatus) -> Option<Finding> {
    let ready = find(&status.conditions, READY)?;
    [STATE_NOT_WRITABLE, AGENT_FAILED]
        .contains(&ready.reason.as_str())
        .then(|| Finding::new(&ready.reason, ready.message.clone(), remedy(&ready.reason)))
}

/// Finds metrics that are not served, and files that cannot be used; networks work nevertheless.
fn beside_networks(status: &UserspaceNodeStateStatus) -> impl Iterator<Item = Finding> {
    let conditions = [METRICS_SERVED, CONFIGURATIONS_ACCEPTED].into_iter();
    let found = conditions.filter_map(|kind| find(&status.conditions, kind));
    let found = found.filter(|condition| condition.status == Status::False.as_str());
    found.map(|condition| Finding::new(&condition.reason, condition.message.clone(), remedy(&condition.reason)))
}

/// Finds an engine that is not connected. An engine that never was is a problem only if networks
/// require it.
fn engine_down(
    snapshot: &Snapshot,
    name: &str,
    status: &UserspaceNodeStateStatus,
    engine: EngineKind,
) -> Option<Finding> {
    let condition = find(&status.conditions, engine_connected(engine))?;
    if condition.status != Status::False.as_str() {
        return None;
    }
    // What the pod of a UserspaceEngine says has a reason of its own.
    let is_of_object = reason::find(&condition.reason).is_some_and(|reason| reason.is_in(Place::Engine));
    let remedy = match engines::object_of(snapshot, name, engine) {
        Some(object) if !is_of_object => {
            format!("UserspaceEngine {object} is to run it there: kubectl usnet explain usne {object}")
        }
        _ => remedy_for(&condition.reason, engine).to_owned(),
    };
    let finding = |cause: &str| Finding::new(cause, condition.message.clone(), remedy.clone()).of(engine.to_string());
    if is_of_object {
        return Some(finding(&condition.reason));
    }
    if condition.reason != NEVER_SEEN {
        return Some(finding(&format!("Engine{}", condition.reason)));
    }
    let waiting: Vec<String> = snapshot
        .cache
        .compiled
        .iter()
        .filter(|(_, compiled)| {
            compiled
                .selection
                .as_ref()
                .is_some_and(|selection| selection.engine == engine && selects(snapshot, name, selection))
        })
        .map(|(network, _)| network.clone())
        .collect();
    let of = format!("{engine}, for {}", join_first(&waiting, NAMED));
    (!waiting.is_empty()).then(|| finding("EngineNeverSeen").of(of))
}

fn selects(snapshot: &Snapshot, name: &str, selection: &usnet_controller::cache::objects::Selection) -> bool {
    use kube::core::SelectorExt;
    let labels = snapshot.cache.nodes.get(name).map(|node| &node.labels);
    selection.nodes.as_ref().zip(labels).is_some_and(|(selector, labels)| selector.matches(labels))
}

/// Returns a finding for each problem; networks often have the same.
fn networks<'a>(reports: impl Iterator<Item = &'a NetworkReport>) -> Vec<Finding> {
    let mut problems: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for report in reports.filter(|report| is_problem(report)) {
        let cause = if report.reason.is_empty() { "Pending" } else { &report.reason };
        problems.entry((cause, &report.message)).or_default().push(report.name.clone());
    }
    let finding = |((cause, message), names): ((&str, &str), Vec<String>)| {
        let noun = if names.len() == 1 { "network" } else { "networks" };
        Finding::new(cause, message, remedy(cause)).of(format!("{noun} {}", join_first(&names, NAMED)))
    };
    problems.into_iter().map(finding).collect()
}

fn is_problem(report: &NetworkReport) -> bool {
    match report.state {
        NetworkState::Programmed => false,
        NetworkState::Pending | NetworkState::Failed => true,
        NetworkState::Draining => !report.reason.is_empty(),
    }
}

fn interfaces(report: &NetworkReport) -> Option<Finding> {
    let first = report.degraded.first()?;
    let entries: Vec<String> = report.degraded.iter().map(|it| format!("{} {}", it.pod, it.interface)).collect();
    let of = format!("network {}: {}", report.name, join_first(&entries, NAMED));
    let found = Finding::new(&first.reason, first.message.clone(), remedy(&first.reason));
    Some(found.warning_if(report.degraded.iter().all(|it| it.reason == NOT_CONNECTED)).of(of))
}
