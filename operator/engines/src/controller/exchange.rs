//! The exchange of the image in a running pod: kubelet ends the container and starts another in the
//! same pod, which keeps its network, its CPUs and its hugepages and is faster than another pod.
//! Pure.

use super::CONTAINER;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;

/// The annotation of a pod whose image was exchanged: how often its container had been restarted
/// before, and when it was exchanged, as `0 2026-01-02T03:04:05Z`.
pub(super) const ANNOTATION: &str = "usnet.dev/engine-image-exchanged";

/// kubelet acts within a second. It does nothing if the image was exchanged forth and back before
/// it noticed.
const NOTICED_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// The value of the annotation for a pod whose image is exchanged now.
pub(super) fn annotation(restarts: Option<i32>, now: Timestamp) -> String {
    format!("{} {now}", restarts.unwrap_or(-1))
}

/// How often the container of the engine was restarted; none if it was never started.
pub(super) fn restarts(pod: &Pod) -> Option<i32> {
    let status = container(pod)?;
    let has_run = |state: &Option<k8s_openapi::api::core::v1::ContainerState>| {
        state.as_ref().is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    };
    (has_run(&status.state) || has_run(&status.last_state)).then_some(status.restart_count)
}

/// Whether what the pod says of itself is about the image that it had before.
pub(super) fn is_awaited(pod: &Pod, now: Timestamp) -> bool {
    let Some(value) = pod.annotations().get(ANNOTATION) else { return false };
    let Some((before, since)) = value.split_once(' ') else { return false };
    let (Ok(before), Ok(since)) = (before.parse::<i32>(), since.parse::<Timestamp>()) else { return false };
    restarts(pod).is_none_or(|restarts| restarts <= before) && now < since + NOTICED_WITHIN
}

fn container(pod: &Pod) -> Option<&ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_deref().unwrap_or_default();
    statuses.iter().find(|status| status.name == CONTAINER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(annotation: &str, restarts: i32, state: &Value) -> Pod {
        let status = json!({"name": "engine", "image": "x", "imageID": "", "ready": true, "restartCount": restarts, "state": state});
        let metadata = json!({"annotations": {ANNOTATION: annotation}});
        let object = json!({"metadata": metadata, "status": {"containerStatuses": [status]}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_pod_is_believed_when_its_container_was_restarted() {
        let (running, waiting) = (json!({"running": {}}), json!({"waiting": {"reason": "ErrImagePull"}}));
        let begun = Timestamp::UNIX_EPOCH;
        let awaits = |annotation: &str, restarts, state: &Value| {
            is_awaited(&pod(annotation, restarts, state), begun + SignedDuration::from_secs(29))
        };
        let second = annotation(Some(1), begun);
        assert!(awaits(&second, 1, &running), "it is the container with the image before");
        assert!(!awaits(&second, 2, &running));
        let first = annotation(restarts(&pod("", 0, &waiting)), begun);
        assert!(awaits(&first, 0, &waiting), "it has never run");
        assert!(!awaits(&first, 0, &running));
        assert!(!awaits("of a later version", 0, &running));
        let late = begun + NOTICED_WITHIN;
        assert!(!is_awaited(&pod(&second, 1, &running), late), "the image was put back at once");
    }
}
