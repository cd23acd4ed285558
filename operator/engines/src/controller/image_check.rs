//! Whether a node can run the engine from another image, found out before the engine is restarted:
//! an ephemeral container in its pod lets kubelet fetch the image, and looks for the programs.
//! Pure.

use super::CONTAINER;
use crate::settings::VARIABLE;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::{Value, json};
use usnet_crds::conditions::reason::{IMAGE_UNAVAILABLE, IMAGE_UNSUITABLE};
use usnet_crds::names::fnv1a;

/// What is known of an image on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImageCheck {
    /// The pod has the image.
    NotNeeded,
    NotBegun,
    /// kubelet fetches the image, or it is being looked at.
    Running,
    Passed,
    Failed {
        reason: &'static str,
        message: String,
    },
}

/// The ephemeral container of an image. Those of a pod cannot be removed, and one of an image that
/// the pod had before is not run again.
pub(super) fn container(image: &str, settings: &str) -> Value {
    json!({
        "name": name(image),
        "image": image,
        "command": ["/usnet-engine/usnet", "check-image"],
        "env": [{"name": VARIABLE, "value": settings}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "runAsUser": 0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": "supervisor", "mountPath": "/usnet-engine", "readOnly": true},
            {"name": "settings", "mountPath": "/etc/usnet-engine", "readOnly": true},
        ],
    })
}

fn name(image: &str) -> String {
    format!("image-{:016x}", fnv1a(image.as_bytes()))
}

/// How far the check of an image in a pod is.
pub(super) fn of(pod: &Pod, image: &str) -> ImageCheck {
    let Some(spec) = pod.spec.as_ref() else { return ImageCheck::NotBegun };
    if spec.containers.iter().any(|it| it.name == CONTAINER && it.image.as_deref() == Some(image)) {
        return ImageCheck::NotNeeded;
    }
    let name = name(image);
    if !spec.ephemeral_containers.iter().flatten().any(|container| container.name == name) {
        return ImageCheck::NotBegun;
    }
    let status = pod.status.as_ref();
    let mut statuses = status.and_then(|status| status.ephemeral_container_statuses.as_ref()).into_iter().flatten();
    statuses.find(|status| status.name == name).map_or(ImageCheck::Running, result)
}

fn result(status: &ContainerStatus) -> ImageCheck {
    let Some(state) = &status.state else { return ImageCheck::Running };
    if let Some(ended) = &state.terminated {
        let said = ended.message.as_deref().or(ended.reason.as_deref()).unwrap_or_default().trim();
        return match ended.exit_code {
            0 => ImageCheck::Passed,
            code => ImageCheck::Failed {
                reason: IMAGE_UNSUITABLE,
                message: format!("image {} was refused with status {code}: {said}", status.image),
            },
        };
    }
    let waiting = state.waiting.as_ref();
    let reason = waiting.and_then(|waiting| waiting.reason.as_deref()).unwrap_or_default();
    let said = waiting.and_then(|waiting| waiting.message.as_deref()).unwrap_or_default();
    if super::pod_health::IMAGE_REASONS.contains(&reason) {
        let message = format!("the node cannot get image {}: {reason}: {said}", status.image);
        return ImageCheck::Failed { reason: IMAGE_UNAVAILABLE, message };
    }
    if reason.ends_with("Error") {
        let message = format!("image {} cannot be started: {reason}: {said}", status.image);
        return ImageCheck::Failed { reason: IMAGE_UNSUITABLE, message };
    }
    ImageCheck::Running
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(state: &Value) -> ImageCheck {
        let own = container("new:1", "{}");
        let status = json!({"name": own["name"], "image": "new:1", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        let pod = json!({
            "metadata": {},
            "spec": {"containers": [{"name": "engine", "image": "old:1"}], "ephemeralContainers": [own]},
            "status": {"ephemeralContainerStatuses": [status]},
        });
        of(&serde_json::from_value(pod).unwrap(), "new:1")
    }

    #[test]
    fn an_image_is_usable_when_its_container_says_so() {
        let ended = |code: i32| json!({"terminated": {"exitCode": code, "message": "no program vpp\n"}});
        assert_eq!(check(&ended(0)), ImageCheck::Passed);
        let ImageCheck::Failed { reason, message } = check(&ended(1)) else { panic!() };
        assert!(reason == IMAGE_UNSUITABLE && message.ends_with("no program vpp"), "{message}");
        let waiting = |reason: &str| check(&json!({"waiting": {"reason": reason, "message": "said"}}));
        assert_eq!(waiting("PodInitializing"), ImageCheck::Running);
        assert!(matches!(waiting("ErrImagePull"), ImageCheck::Failed { reason: IMAGE_UNAVAILABLE, .. }));
        assert!(matches!(waiting("CreateContainerError"), ImageCheck::Failed { reason: IMAGE_UNSUITABLE, .. }));
        assert_eq!(check(&json!({"running": {}})), ImageCheck::Running);
    }

    #[test]
    fn the_image_of_the_pod_needs_no_check() {
        let pod: Pod = serde_json::from_value(
            json!({"metadata": {}, "spec": {"containers": [{"name": "engine", "image": "old:1"}]}}),
        )
        .unwrap();
        assert_eq!(of(&pod, "old:1"), ImageCheck::NotNeeded);
        assert_eq!(of(&pod, "new:1"), ImageCheck::NotBegun);
    }
}
