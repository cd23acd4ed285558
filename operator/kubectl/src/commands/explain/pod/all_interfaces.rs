//! Causes that concern all interfaces of a pod.

use crate::commands::explain::finding::Finding;
use crate::model::pod::{NETWORKS, RESOURCE_PREFIX};
use crate::model::selection::selected;
use crate::model::{Pod, Snapshot};

/// The reasons of containers that do not start.
const BROKEN: [&str; 7] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "RunContainerError",
];

pub(super) fn causes(_: &Snapshot, pod: &Pod) -> Vec<Finding> {
    if pod.has_ended() {
        return Vec::new();
    }
    let all = [no_network(pod), annotation(pod), host_network(pod), unscheduled(pod), container(pod)];
    all.into_iter().flatten().collect()
}

fn no_network(pod: &Pod) -> Option<Finding> {
    let why = format!("the pod has no annotation {NETWORKS}, by which pods select networks");
    let remedy =
        format!("add the annotation to what creates the pod, such as {NETWORKS}: blue, and create the pod again");
    pod.networks
        .as_deref()
        .is_none_or(|text| text.trim().is_empty())
        .then(|| Finding::new("NoNetworkSelected", why, remedy))
}

fn annotation(pod: &Pod) -> Option<Finding> {
    let problem = selected(pod.networks.as_deref()?, &pod.namespace).err()?;
    let why = format!("annotation {NETWORKS} cannot be used: {problem}");
    Some(Finding::new("AnnotationInvalid", why, "correct it in what creates the pod, and create the pod again"))
}

fn host_network(pod: &Pod) -> Option<Finding> {
    let why = "the pod has hostNetwork: true: no CNI plugin is called for it, and its annotation has no effect";
    let remedy = "remove hostNetwork from what creates the pod, or remove the annotation";
    (pod.host_network && pod.networks.is_some()).then(|| Finding::new("HostNetwork", why, remedy))
}

/// Resources of networks are left to [`super::placement::resource`].
fn unscheduled(pod: &Pod) -> Option<Finding> {
    let message = pod.unscheduled.as_ref().filter(|message| !message.contains(RESOURCE_PREFIX))?;
    let why = format!("the scheduler has found no node for the pod: {message}");
    Some(Finding::new("NotScheduled", why, "change the pod's requirements, or the nodes; usnet is not involved yet"))
}

fn container(pod: &Pod) -> Option<Finding> {
    let is_broken = |reason: &&str| BROKEN.contains(reason);
    let (container, reason) =
        pod.containers.iter().find_map(|it| Some((it, it.reason.as_deref().filter(is_broken)?)))?;
    let why = format!(
        "container {} is not running: {reason}, after {} restarts (image {})",
        container.name, container.restarts, container.image
    );
    let remedy = format!(
        "kubectl describe pod -n {0} {1}; kubectl logs -n {0} {1} -c {2} --previous",
        pod.namespace, pod.name, container.name
    );
    Some(Finding::new("ProgramNotRunning", why, remedy))
}
