//! Causes that concern all interfaces of a pod.

use super::{container, last_resort, scheduling};
use crate::commands::explain::finding::Finding;
use crate::commands::pods::report::claims_of;
use crate::model::pod::{NETWORKS, RESOURCE_PREFIX};
use crate::model::selection::selected;
use crate::model::{Claim, Objects, Pod, Snapshot};

/// The cause of a pod that selects no network.
pub(in crate::commands::explain) const NO_NETWORK: &str = "NoNetworkSelected";

pub(super) fn causes(snapshot: &Snapshot, pod: &Pod) -> Vec<Finding> {
    if pod.is_deleting {
        return last_resort::ending(snapshot, pod).into_iter().collect();
    }
    if pod.has_ended() {
        return failed(pod).into_iter().collect();
    }
    let all = [
        no_network(snapshot, pod),
        annotation(pod),
        host_network(pod),
        scheduling::cause(snapshot, pod),
        container::cause(pod),
    ];
    all.into_iter().flatten().collect()
}

/// The kubelet gave the whole pod up, such as one for which there was no device.
fn failed(pod: &Pod) -> Option<Finding> {
    let (reason, message) = pod.failure.as_ref().filter(|_| pod.phase == "Failed")?;
    let created_by =
        pod.owner.as_ref().map_or_else(|| "create it again".to_owned(), |owner| format!("{owner} creates another one"));
    let why = format!("the kubelet gave the pod up: {message}");
    Some(Finding::new(reason, why, format!("act on the message, and delete the pod: {created_by}")))
}

/// Nothing requests an interface of usnet, as far as that was read.
fn no_network(snapshot: &Snapshot, pod: &Pod) -> Option<Finding> {
    let has_annotation = pod.networks.as_deref().is_some_and(|text| !text.trim().is_empty());
    let claims = claims_of(snapshot, pod);
    let may_have_claim = claims.iter().any(|claimed| claimed.claim.is_none_or(Claim::is_of_usnet));
    let is_added = snapshot.added.iter().any(|it| it.namespace == pod.namespace && it.pod == pod.name);
    let may_be_added = is_added || !snapshot.has_read(Objects::Added);
    // Without a claim, a device of the device plugin needs the annotation as well.
    let is_claimed = |resource: &String| {
        let network = resource.strip_prefix(RESOURCE_PREFIX).and_then(|name| snapshot.cache.networks.get(name));
        network.and_then(|network| network.spec.as_ref().ok()).is_none_or(|valid| valid.resource_claims.is_some())
    };
    if has_annotation || may_have_claim || may_be_added || pod.resources.iter().any(is_claimed) {
        return None;
    }
    let why = format!("the pod has no annotation {NETWORKS}, by which pods select networks, and claims no port");
    let remedy =
        format!("add the annotation to what creates the pod, such as {NETWORKS}: blue, and create the pod again");
    Some(Finding::new(NO_NETWORK, why, remedy))
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
