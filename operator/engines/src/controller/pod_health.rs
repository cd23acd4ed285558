//! Why a pod does not run its engine, from what Kubernetes and the agent of its node say. Pure.

use super::exchange;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use usnet_common::display::OneLine;
use usnet_crds::conditions::engine_connected;
use usnet_crds::conditions::reason::{
    ENGINE_FAILS, ENGINE_FOREIGN, ENGINE_STARTING, IMAGE_UNAVAILABLE, INSUFFICIENT_CPUS, INSUFFICIENT_HUGEPAGES,
    INSUFFICIENT_MEMORY, NODE_TAKEN, POD_REFUSED, Place, find,
};
use usnet_crds::{EngineKind, UserspaceNodeState};

/// How long after its start a pod may not be ready while its engine runs already: the probe runs
/// every 2 s.
const FOREIGN_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// What kubelet says of a container whose image it cannot get.
pub(super) const IMAGE_REASONS: [&str; 5] =
    ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];

/// The node of a pod. The DaemonSet's controller names it before the scheduler does.
pub(super) fn node_of(pod: &Pod) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    if let Some(node) = &spec.node_name {
        return Some(node.clone());
    }
    let required =
        spec.affinity.as_ref()?.node_affinity.as_ref()?.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = required.node_selector_terms.iter().flat_map(|term| term.match_fields.iter().flatten());
    fields.filter(|field| field.key == "metadata.name").flat_map(|field| field.values.iter().flatten()).next().cloned()
}

/// Whether the engine of a pod runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodHealth {
    /// It runs, and the agent of the node is connected to it.
    Running,
    /// It is not running yet.
    Starting,
    /// It does not, for this reason.
    Failing { reason: &'static str, message: String },
}

/// Since when a pod is ready; none if it is not.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    condition(pod.status.as_ref()?, "Ready", "True")
}

/// Since when a condition of a pod has this status; none if it has not.
fn condition(status: &PodStatus, kind: &str, value: &str) -> Option<Timestamp> {
    let mut conditions = status.conditions.iter().flatten();
    let found = conditions.find(|condition| condition.type_ == kind && condition.status == value)?;
    found.last_transition_time.as_ref().map(|time| time.0)
}

/// How the engine of a pod is; `state` is that of its node, and `taken_by` another object that runs
/// the engine there.
pub(super) fn health(
    pod: &Pod,
    engine: EngineKind,
    state: Option<&UserspaceNodeState>,
    taken_by: Option<&str>,
    now: Timestamp,
) -> PodHealth {
    let status = pod.status.as_ref();
    let has = |kind: &str| {
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True")
    };
    // Without an agent, what the pod says of itself is all there is.
    if has("Ready") && !exchange::is_awaited(pod, now) && state.is_none_or(|state| is_connected(state, engine)) {
        return PodHealth::Running;
    }
    let found = taken_by
        .map(|object| {
            (
                NODE_TAKEN,
                format!("UserspaceEngine {object} runs {engine} on this node: change spec.nodeSelector of one of them"),
            )
        })
        .or_else(|| status.and_then(refused))
        .or_else(|| status.and_then(unschedulable))
        .or_else(|| status.and_then(containers))
        .or_else(|| state.and_then(|state| said_by_agent(state, engine)))
        .or_else(|| foreign(pod, engine, state?, now));
    match found {
        Some((reason, message)) => PodHealth::Failing { reason, message: OneLine(message).to_string() },
        None => PodHealth::Starting,
    }
}

/// What makes an engine worse that runs, by the agent of its node.
pub(super) fn warning(engine: EngineKind, state: &UserspaceNodeState) -> Option<(&'static str, String)> {
    let conditions = state.status.as_ref()?.conditions.iter();
    let connected = conditions.into_iter().find(|it| it.type_ == engine_connected(engine) && it.status == "True")?;
    let reason = find(&connected.reason).filter(|reason| reason.is_in(Place::Engine))?;
    Some((reason.name, OneLine(&connected.message).to_string()))
}

/// Whether the agent of a node is connected to the engine.
fn is_connected(node: &UserspaceNodeState, engine: EngineKind) -> bool {
    let conditions = node.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == engine_connected(engine) && condition.status == "True")
}

type Cause = (&'static str, String);

/// kubelet refused the pod.
fn refused(status: &PodStatus) -> Option<Cause> {
    (status.phase.as_deref() == Some("Failed")).then_some(())?;
    let reason = status.reason.as_deref().unwrap_or("Failed");
    let message = format!("kubelet refused the pod: {reason}: {}", status.message.as_deref().unwrap_or_default());
    Some((resource(&message).unwrap_or(POD_REFUSED), message))
}

/// The scheduler finds no room on the node.
fn unschedulable(status: &PodStatus) -> Option<Cause> {
    let scheduled = status.conditions.iter().flatten().find(|it| it.type_ == "PodScheduled" && it.status == "False")?;
    let said = scheduled.message.as_deref()?;
    let reason = resource(said).unwrap_or(POD_REFUSED);
    let advice = match reason {
        INSUFFICIENT_HUGEPAGES => {
            "spec.memory.packets asks for hugepages that the node does not have or has given to others: reserve more by the boot parameters of the node and restart kubelet, or use less"
        }
        INSUFFICIENT_CPUS => "spec.cpus asks for more CPUs than the node has free: use fewer, or move other pods away",
        INSUFFICIENT_MEMORY => {
            "spec.memory asks for more memory than the node has free: use less, or move other pods away"
        }
        _ => "the scheduler does not place the pod",
    };
    Some((reason, format!("{advice} ({said})")))
}

/// The resource that a message is about.
fn resource(message: &str) -> Option<&'static str> {
    let has = |word: &str| message.contains(word);
    if has("hugepages") {
        Some(INSUFFICIENT_HUGEPAGES)
    } else if has("Insufficient cpu") || has("cpumanager") || has("CPU") || has("cpu") {
        Some(INSUFFICIENT_CPUS)
    } else if has("Insufficient memory") || has("memory") {
        Some(INSUFFICIENT_MEMORY)
    } else {
        None
    }
}

/// A container does not start, or ended.
fn containers(status: &PodStatus) -> Option<Cause> {
    let of_init = status.init_container_statuses.iter().flatten();
    of_init.chain(status.container_statuses.iter().flatten()).find_map(container)
}

fn container(status: &ContainerStatus) -> Option<Cause> {
    let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
    let reason = waiting.and_then(|waiting| waiting.reason.as_deref()).unwrap_or_default();
    let said = waiting.and_then(|waiting| waiting.message.as_deref()).unwrap_or_default();
    if IMAGE_REASONS.contains(&reason) {
        let message = format!("the node cannot get image {}: {reason}: {said}", status.image);
        return Some((IMAGE_UNAVAILABLE, message));
    }
    let ended = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let why = ended.and_then(|ended| ended.reason.as_deref()).unwrap_or_default();
    if why == "OOMKilled" {
        let message = "the kernel ended the engine because it needed more memory than the limit of its pod: use more in spec.memory.process";
        return Some((INSUFFICIENT_MEMORY, message.to_owned()));
    }
    if ["CreateContainerError", "RunContainerError", "CreateContainerConfigError"].contains(&reason) {
        return Some((ENGINE_FAILS, format!("container {} does not start: {said}", status.name)));
    }
    (reason == "CrashLoopBackOff").then(|| {
        let code = ended.map(|ended| ended.exit_code).unwrap_or_default();
        let message = format!("container {} ended with status {code}: see its log", status.name);
        (ENGINE_FAILS, message)
    })
}

/// The agent is connected to an engine, and the pod has not started it.
fn foreign(pod: &Pod, engine: EngineKind, state: &UserspaceNodeState, now: Timestamp) -> Option<Cause> {
    let status = pod.status.as_ref()?;
    let container = status.container_statuses.iter().flatten().next()?;
    let started = container.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0;
    // A pod whose engine is being started again is not ready for a moment.
    let since = condition(status, "Ready", "False").map_or(started, |since| since.max(started));
    let is_foreign = is_connected(state, engine) && now >= since + FOREIGN_AFTER;
    is_foreign.then(|| {
        let message = format!(
            "{engine} runs on the node, and was not started by usnet; it is left alone: exclude the node by spec.nodeSelector, or stop and disable that engine on the node"
        );
        (ENGINE_FOREIGN, message)
    })
}

/// What the agent repeats of the report of the pod's supervisor.
fn said_by_agent(state: &UserspaceNodeState, engine: EngineKind) -> Option<Cause> {
    let conditions = state.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let condition = conditions.iter().find(|it| it.type_ == engine_connected(engine) && it.status == "False")?;
    let known = find(&condition.reason)?;
    // Reasons such as Disconnected only repeat that the engine does not run yet.
    known
        .is_in(Place::Engine)
        .then(|| (known.name, condition.message.clone()))
        .filter(|(name, _)| *name != ENGINE_STARTING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use usnet_crds::conditions::reason::CPUS_NOT_ISOLATED;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn pod(status: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {"containers": []}, "status": status}))
            .unwrap()
    }

    fn state(condition: (&str, &str)) -> UserspaceNodeState {
        let (status, reason) = condition;
        let condition = json!({"type": "OVSConnected", "status": status, "reason": reason, "message": "said", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let state = json!({"apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNodeState", "metadata": {"name": "a"}, "spec": {}, "status": {"conditions": [condition]}});
        serde_json::from_value(state).unwrap()
    }

    fn reason_of(status: &Value) -> String {
        match health(&pod(status), EngineKind::OpenVswitch, None, None, NOW) {
            PodHealth::Failing { reason, message } => format!("{reason}: {message}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_way_in_which_kubernetes_refuses_a_pod_has_its_reason() {
        let waiting = |reason: &str| json!({"containerStatuses": [{"name": "engine", "image": "x:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": reason, "message": "said"}}}]});
        let unscheduled =
            |message: &str| json!({"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]});
        for (status, expected) in [
            (unscheduled("0/2 nodes are available: 1 Insufficient hugepages-2Mi."), INSUFFICIENT_HUGEPAGES),
            (unscheduled("0/2 nodes are available: 1 Insufficient cpu."), INSUFFICIENT_CPUS),
            (unscheduled("0/2 nodes are available: 1 Insufficient memory."), INSUFFICIENT_MEMORY),
            (
                json!({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "not enough cpus available"}),
                INSUFFICIENT_CPUS,
            ),
            (json!({"phase": "Failed", "reason": "Evicted", "message": "other"}), POD_REFUSED),
            (waiting("ImagePullBackOff"), IMAGE_UNAVAILABLE),
            (waiting("RunContainerError"), ENGINE_FAILS),
            (waiting("CrashLoopBackOff"), ENGINE_FAILS),
        ] {
            let found = reason_of(&status);
            assert!(found.starts_with(&format!("{expected}: ")), "{status}: {found}");
        }
        assert_eq!(reason_of(&waiting("ContainerCreating")), "Starting");
        let killed = json!({"containerStatuses": [{"name": "engine", "image": "x:1", "imageID": "", "ready": false, "restartCount": 1, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]});
        assert!(reason_of(&killed).starts_with(INSUFFICIENT_MEMORY));
    }

    #[test]
    fn an_engine_runs_when_pod_and_agent_say_so() {
        let ready = pod(&json!({"conditions": [{"type": "Ready", "status": "True"}]}));
        let health = |state: Option<&UserspaceNodeState>| health(&ready, EngineKind::OpenVswitch, state, None, NOW);
        assert_eq!(health(None), PodHealth::Running);
        assert_eq!(health(Some(&state(("True", "Connected")))), PodHealth::Running);
        assert_eq!(health(Some(&state(("False", "Disconnected")))), PodHealth::Starting);
        let foreign = health(Some(&state(("False", ENGINE_FOREIGN))));
        assert_eq!(foreign, PodHealth::Failing { reason: ENGINE_FOREIGN, message: "said".to_owned() });
    }

    #[test]
    fn a_connected_engine_may_have_a_warning() {
        let warning = |reason: &str| warning(EngineKind::OpenVswitch, &state(("True", reason)));
        assert_eq!(warning(CPUS_NOT_ISOLATED), Some((CPUS_NOT_ISOLATED, "said".to_owned())));
        assert_eq!(warning("Connected"), None);
    }

    #[test]
    fn an_engine_that_the_pod_has_not_started_is_foreign() {
        let running = json!({"running": {"startedAt": "1970-01-01T00:00:00Z"}});
        let container =
            json!({"name": "engine", "image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": running});
        let pod = pod(&json!({"containerStatuses": [container]}));
        let after = |seconds| {
            let now = NOW + SignedDuration::from_secs(seconds);
            health(&pod, EngineKind::OpenVswitch, Some(&state(("True", "Connected"))), None, now)
        };
        assert_eq!(after(4), PodHealth::Starting);
        assert!(matches!(after(5), PodHealth::Failing { reason: ENGINE_FOREIGN, .. }));
        let mut again = pod.clone();
        let since = json!({"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:00:10Z"});
        again.status.as_mut().unwrap().conditions = serde_json::from_value(json!([since])).unwrap();
        let connected = state(("True", "Connected"));
        let health_after = |seconds| {
            let now = NOW + SignedDuration::from_secs(seconds);
            health(&again, EngineKind::OpenVswitch, Some(&connected), None, now)
        };
        assert_eq!(health_after(14), PodHealth::Starting, "it was ready before");
        assert!(matches!(health_after(15), PodHealth::Failing { .. }));
        let down = health(
            &pod,
            EngineKind::OpenVswitch,
            Some(&state(("False", "NeverSeen"))),
            None,
            NOW + SignedDuration::from_secs(9),
        );
        assert_eq!(down, PodHealth::Starting);
    }

    #[test]
    fn the_node_is_known_before_the_pod_is_scheduled() {
        let field = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]});
        let affinity =
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}});
        let pod: Pod =
            serde_json::from_value(json!({"metadata": {}, "spec": {"containers": [], "affinity": affinity}})).unwrap();
        assert_eq!(node_of(&pod).as_deref(), Some("a"));
    }
}
