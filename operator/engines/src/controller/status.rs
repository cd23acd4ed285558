//! The conditions of a UserspaceEngine. Pure.

use super::image_check::ImageCheck;
use super::observed::EnginePod;
use super::pod_health::PodHealth;
use super::update::Update;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeMap;
use usnet_crds::UserspaceEngineStatus;
use usnet_crds::conditions::reason::{
    ENGINE_RUNNING, ENGINE_STARTING, IN_USE, INVALID, NO_MATCHING_NODES, RESTART_NEEDED, TERMINATING, UP_TO_DATE,
    UPDATE_PAUSED, UPDATE_STOPPED,
};
use usnet_crds::conditions::{ConditionUpdate, DELETION_BLOCKED, READY, Status, UPDATED, merge};
use usnet_crds::userspace_engine::spec::EngineUpdateSpec;
use usnet_crds::userspace_engine::status::{EngineNodeProblem, EngineNodes, PROBLEMS_MAX};

/// Longest message of a condition and of a problem, in characters.
const MESSAGE_MAX: usize = 512;
/// Most nodes in a message.
const NAMED_MAX: usize = 3;

/// What a status is computed from.
#[derive(Debug)]
pub(super) struct Inputs<'a> {
    pub(super) pods: &'a BTreeMap<String, EnginePod>,
    /// Nodes that should have a pod; none before the DaemonSet is there.
    pub(super) selected: Option<usize>,
    pub(super) update: &'a Update,
    pub(super) policy: &'a EngineUpdateSpec,
    pub(super) generation: Option<i64>,
}

/// The status of an object whose spec is valid.
pub(super) fn status(inputs: &Inputs<'_>, old: &[Condition], now: &Time) -> UserspaceEngineStatus {
    let problems = problems(inputs);
    let running = inputs.pods.values().filter(|pod| is_running(pod)).count();
    let updates = vec![ready(inputs, &problems, running), updated(inputs)];
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    UserspaceEngineStatus {
        observed_generation: inputs.generation,
        conditions: merge(old, updates, inputs.generation, now),
        nodes: EngineNodes {
            selected: number(inputs.selected.unwrap_or_default()),
            running: number(running),
            updated: number(inputs.pods.len().saturating_sub(inputs.update.outdated.len())),
            summary: format!("{running}/{}", inputs.selected.unwrap_or_default()),
        },
        problems: problems.into_iter().take(PROBLEMS_MAX).collect(),
    }
}

/// The status of an object whose spec is invalid. Engines that run go on.
pub(super) fn invalid(
    message: &str,
    nodes: EngineNodes,
    old: &[Condition],
    generation: Option<i64>,
    now: &Time,
) -> UserspaceEngineStatus {
    let update = ConditionUpdate::new(READY, Status::False, INVALID, truncate(message));
    let conditions = merge(old, vec![update], generation, now);
    UserspaceEngineStatus { observed_generation: generation, conditions, nodes, problems: Vec::new() }
}

/// The conditions of an object that is being deleted.
pub(super) fn deleting(attached: &(i64, Vec<String>)) -> Vec<ConditionUpdate> {
    let (number, pods) = attached;
    if *number == 0 {
        let message = "the engine is being ended on its nodes";
        return vec![ConditionUpdate::new(READY, Status::False, TERMINATING, message)];
    }
    let message =
        format!("{number} interfaces of pods are attached to the engine: delete the pods, such as {}", pods.join(", "));
    vec![
        ConditionUpdate::new(READY, Status::False, TERMINATING, "it waits for pods to be deleted"),
        ConditionUpdate::new(DELETION_BLOCKED, Status::True, IN_USE, truncate(&message)),
    ]
}

fn is_running(pod: &EnginePod) -> bool {
    pod.health == PodHealth::Running && !pod.is_ending
}

fn problems(inputs: &Inputs<'_>) -> Vec<EngineNodeProblem> {
    // What failed with an earlier spec may run with the current one.
    let is_current =
        |pod: &&EnginePod| !pod.is_ending && !inputs.update.steps.iter().any(|step| step.pod() == pod.name);
    let problem = |pod: &EnginePod| match (&pod.health, &pod.image) {
        (PodHealth::Failing { reason, message }, _) | (_, ImageCheck::Failed { reason, message }) => {
            Some(EngineNodeProblem { node: pod.node.clone(), reason: (*reason).to_owned(), message: truncate(message) })
        }
        _ => None,
    };
    inputs.pods.values().filter(is_current).filter_map(problem).collect()
}

fn ready(inputs: &Inputs<'_>, problems: &[EngineNodeProblem], running: usize) -> ConditionUpdate {
    let Some(selected) = inputs.selected else {
        return ConditionUpdate::new(READY, Status::False, ENGINE_STARTING, "its pods are being created");
    };
    if selected == 0 {
        let message = "no node has the labels of spec.nodeSelector";
        return ConditionUpdate::new(READY, Status::True, NO_MATCHING_NODES, message);
    }
    if let Some(first) = problems.first() {
        let others = match problems.len() {
            1 => String::new(),
            more => format!("; {} more nodes have a problem", more - 1),
        };
        let message = format!("node {}: {}{others}", first.node, first.message);
        return ConditionUpdate::new(READY, Status::False, first.reason.clone(), truncate(&message));
    }
    if running == selected {
        let message = format!("it runs on {selected} nodes");
        return match inputs.pods.values().find_map(|pod| Some((&pod.node, pod.warning.as_ref()?))) {
            Some((node, (reason, warning))) => ConditionUpdate::new(
                READY,
                Status::True,
                *reason,
                truncate(&format!("{message}; node {node}: {warning}")),
            ),
            None => ConditionUpdate::new(READY, Status::True, ENGINE_RUNNING, message),
        };
    }
    let waiting: Vec<&str> = inputs.pods.values().filter(|pod| !is_running(pod)).map(|pod| pod.node.as_str()).collect();
    let message = match waiting.as_slice() {
        [] => format!(
            "{} nodes have no pod yet: if that lasts, `kubectl describe daemonset -n usnet-engines` says why",
            selected - running
        ),
        nodes => format!("it runs on {running} of {selected} nodes, and is being started on {}", some(nodes)),
    };
    ConditionUpdate::new(READY, Status::False, ENGINE_STARTING, message)
}

fn updated(inputs: &Inputs<'_>) -> ConditionUpdate {
    let Update { outdated, stopped_by, .. } = inputs.update;
    let nodes: Vec<&str> = outdated.iter().map(String::as_str).collect();
    if nodes.is_empty() {
        return ConditionUpdate::new(UPDATED, Status::True, UP_TO_DATE, "no node has to be restarted");
    }
    let message = format!("{} nodes have to be restarted with the current spec: {}", nodes.len(), some(&nodes));
    let (reason, message) = match stopped_by {
        _ if inputs.policy.paused => (UPDATE_PAUSED, format!("{message}; spec.update.paused is true")),
        Some(node) => (
            UPDATE_STOPPED,
            format!(
                "node {node} cannot run with the current spec, so no other is restarted: see its problem; {message}"
            ),
        ),
        None => (RESTART_NEEDED, message),
    };
    ConditionUpdate::new(UPDATED, Status::False, reason, truncate(&message))
}

fn some(nodes: &[&str]) -> String {
    let named = nodes.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn truncate(text: &str) -> String {
    if text.chars().count() <= MESSAGE_MAX {
        return text.to_owned();
    }
    text.chars().take(MESSAGE_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::conditions::reason::{CPUS_NOT_ISOLATED, IMAGE_UNAVAILABLE};

    fn pods(health: &[PodHealth]) -> BTreeMap<String, EnginePod> {
        let pod = |(place, health): (usize, &PodHealth)| {
            let node = format!("node-{place}");
            let pod = EnginePod {
                name: format!("pod-{place}"),
                node: node.clone(),
                settings: String::new(),
                unchangeable: String::new(),
                restarts: Some(0),
                image: ImageCheck::NotNeeded,
                is_exchanging: false,
                is_ending: false,
                is_settled: true,
                health: health.clone(),
                warning: None,
            };
            (node, pod)
        };
        health.iter().enumerate().map(pod).collect()
    }

    fn conditions(selected: Option<usize>, health: &[PodHealth], outdated: &[&str], stopped: bool) -> Vec<String> {
        let outdated = outdated.iter().map(|node| (*node).to_owned()).collect();
        let update = Update { steps: Vec::new(), outdated, stopped_by: stopped.then(|| "node-0".to_owned()) };
        let (pods, policy) = (pods(health), EngineUpdateSpec::default());
        let inputs = Inputs { pods: &pods, selected, update: &update, policy: &policy, generation: Some(1) };
        let status = status(&inputs, &[], &Time(jiff::Timestamp::UNIX_EPOCH));
        status.conditions.iter().map(|it| format!("{} {} {}: {}", it.type_, it.status, it.reason, it.message)).collect()
    }

    #[test]
    fn it_is_ready_when_it_runs_on_each_node() {
        let failing = PodHealth::Failing { reason: IMAGE_UNAVAILABLE, message: "no image".to_owned() };
        for (selected, health, expected) in [
            (None, &[][..], "Ready False EngineStarting: its pods are being created"),
            (Some(0), &[], "Ready True NoMatchingNodes"),
            (Some(2), &[PodHealth::Running], "Ready False EngineStarting: 1 nodes have no pod yet"),
            (
                Some(2),
                &[PodHealth::Running, PodHealth::Starting],
                "Ready False EngineStarting: it runs on 1 of 2 nodes, and is being started on node-1",
            ),
            (Some(2), &[PodHealth::Running, PodHealth::Running], "Ready True EngineRunning"),
            (
                Some(3),
                &[PodHealth::Running, failing.clone(), failing],
                "Ready False ImageUnavailable: node node-1: no image; 1 more nodes",
            ),
        ] {
            let found = conditions(selected, health, &[], false);
            assert!(found[0].starts_with(expected), "{found:?}");
        }
    }

    #[test]
    fn what_makes_it_worse_is_named_while_it_is_ready() {
        let mut pods = pods(&[PodHealth::Running]);
        pods.get_mut("node-0").unwrap().warning = Some((CPUS_NOT_ISOLATED, "CPUs 2-3".to_owned()));
        let (update, policy) =
            (Update { steps: Vec::new(), outdated: Vec::new(), stopped_by: None }, EngineUpdateSpec::default());
        let inputs = Inputs { pods: &pods, selected: Some(1), update: &update, policy: &policy, generation: Some(1) };
        let ready = status(&inputs, &[], &Time(jiff::Timestamp::UNIX_EPOCH)).conditions.remove(0);
        assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", CPUS_NOT_ISOLATED));
        assert_eq!(ready.message, "it runs on 1 nodes; node node-0: CPUs 2-3");
    }

    #[test]
    fn an_update_says_what_it_waits_for() {
        let running = [PodHealth::Running, PodHealth::Running];
        let updated = |outdated: &[&str], stopped| conditions(Some(2), &running, outdated, stopped).remove(1);
        assert!(updated(&[], false).starts_with("Updated True UpToDate"));
        assert!(updated(&["node-1"], false).starts_with("Updated False RestartNeeded: 1 nodes"));
        let stopped = updated(&["node-1"], true);
        assert!(stopped.starts_with("Updated False UpdateStopped: node node-0 cannot run"), "{stopped}");
    }
}
