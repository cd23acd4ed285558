//! Computes the changes of a pod's annotations. Pure.

use super::desired::DesiredAnnotations;
use super::mapped_dir::mapped_dir;
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use usnet_dataplane::legacy_annotation::{ANNOTATION, LegacyInterfaceStatus, MAPPED_DIR_ANNOTATION, annotation};

/// The new values of annotations; none removes the annotation.
pub(super) type Changes = BTreeMap<&'static str, Option<String>>;

/// Returns what differs between the pod and the desired annotations. `before` are the interfaces
/// that the agent wrote before.
///
/// Each interface gets one element, because readers take the first that they find. Elements of
/// other interfaces are kept: during a migration of the node, the Userspace CNI (Intel) may have
/// written them.
pub(super) fn changes(pod: &Pod, desired: &DesiredAnnotations, before: &BTreeSet<String>) -> Changes {
    let present = |key: &str| pod.metadata.annotations.as_ref().and_then(|all| all.get(key));
    let is_others = |element: &LegacyInterfaceStatus| {
        !desired.elements.contains_key(element.interface()) && !before.contains(element.interface())
    };
    let known: Vec<LegacyInterfaceStatus> =
        present(ANNOTATION).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let all: Vec<String> = known
        .iter()
        .filter(|known| is_others(known))
        .chain(desired.elements.values())
        .map(LegacyInterfaceStatus::to_annotation)
        .collect();
    let (data, folder) = match all.as_slice() {
        [] => (None, None),
        all => (Some(annotation(all)), Some(mapped_dir(pod, desired.source.as_deref()))),
    };
    let both = [(ANNOTATION, data), (MAPPED_DIR_ANNOTATION, folder)];
    both.into_iter().filter(|(key, value)| present(key) != value.as_ref()).collect()
}
