//! Containers that do not start, or end again and again. Pure.

use crate::commands::explain::finding::Finding;
use crate::model::Pod;
use crate::model::pod::{Container, End};

/// The reasons of containers that do not run because of their image.
const IMAGE: [&str; 4] = ["ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName"];
/// The reasons of those that the container runtime cannot start.
const START: [&str; 4] = ["ContainerCannotRun", "CreateContainerError", "RunContainerError", "StartError"];
const CONFIGURATION: &str = "CreateContainerConfigError";
const NO_MEMORY: &str = "OOMKilled";
/// The other reasons of those whose program ended, and is not running now.
const ENDED: [&str; 2] = ["CrashLoopBackOff", "Error"];

/// The first container that does not run.
pub(super) fn cause(pod: &Pod) -> Option<Finding> {
    let is_broken = |reason: &&str| {
        let known = IMAGE.iter().chain(&START).chain(&ENDED).chain(&[CONFIGURATION, NO_MEMORY]);
        known.into_iter().any(|broken| broken == reason)
    };
    let all = pod.init_containers.iter().chain(&pod.containers);
    let (container, reason) = all.into_iter().find_map(|it| Some((it, it.reason.as_deref().filter(is_broken)?)))?;
    let Container { name, restarts, image, last_end, .. } = container;
    let end = last_end.as_ref().map(text).unwrap_or_default();
    let why = format!("container {name} is not running: {reason}, after {restarts} restarts (image {image}){end}");
    Some(Finding::new("ProgramNotRunning", why, remedy(pod, container, reason)))
}

fn text(end: &End) -> String {
    let End { reason, exit_code, message } = end;
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("; it ended with {reason}, exit status {exit_code}{said}")
}

fn remedy(pod: &Pod, container: &Container, reason: &str) -> String {
    let last = container.last_end.as_ref().map(|end| end.reason.as_str()).unwrap_or_default();
    let has = |reasons: &[&str]| [reason, last].iter().any(|one| reasons.contains(one));
    let describe = format!("kubectl describe pod -n {} {}", pod.namespace, pod.name);
    if IMAGE.contains(&reason) {
        format!("correct the image of the container, or let the node pull it (imagePullSecrets): {describe}")
    } else if reason == CONFIGURATION {
        format!("create the ConfigMap or Secret that the container refers to, or correct its name or key: {describe}")
    } else if has(&START) {
        format!("correct the command of the container, or what its image or the node lacks: {describe}")
    } else if has(&[NO_MEMORY]) {
        format!("raise the memory limit of the container, in which hugepages are not counted: {describe}")
    } else {
        let Container { name, .. } = container;
        format!("its log says why it ended: kubectl logs -n {} {} -c {name} --previous", pod.namespace, pod.name)
    }
}
