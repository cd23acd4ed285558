//! How a pod's annotations have to change. Pure.

use super::mapped_dir::mapped_dir;
use super::wanted::Wanted;
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet};
use usnet_dataplane::legacy_annotation::{ANNOTATION, LegacyInterfaceStatus, MAPPED_DIR_ANNOTATION, annotation};

/// New values of annotations; none for one that should go.
pub(super) type Changes = BTreeMap<&'static str, Option<String>>;

/// What differs between the pod and what is wanted. `before` are the interfaces that the agent has told the pod of.
///
/// An interface has one element: readers take the first that they find. Elements of other interfaces are left: while a node is switched, the
/// older plugin may have written them.
pub(super) fn changes(pod: &Pod, wanted: &Wanted, before: &BTreeSet<String>) -> Changes {
    let present = |key: &str| pod.metadata.annotations.as_ref().and_then(|all| all.get(key));
    let is_others = |element: &LegacyInterfaceStatus| {
        !wanted.elements.contains_key(element.interface()) && !before.contains(element.interface())
    };
    let known: Vec<LegacyInterfaceStatus> =
        present(ANNOTATION).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let all: Vec<String> = known
        .iter()
        .filter(|known| is_others(known))
        .chain(wanted.elements.values())
        .map(LegacyInterfaceStatus::to_annotation)
        .collect();
    let (data, folder) = match all.as_slice() {
        [] => (None, None),
        all => (Some(annotation(all)), Some(mapped_dir(pod, wanted.source.as_deref()))),
    };
    let both = [(ANNOTATION, data), (MAPPED_DIR_ANNOTATION, folder)];
    both.into_iter().filter(|(key, value)| present(key) != value.as_ref()).collect()
}
