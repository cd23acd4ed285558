//! Pods of the userspace CNI that share a folder of their node with the engine. Pure.

use crate::model::Pod;
use crate::model::selection::selected;
use serde::Serialize;
use std::collections::BTreeSet;

/// The volume in which such pods share their sockets, and the one of usnet, which comes first.
const VOLUME: &str = "shared-dir";
const VOLUME_OF_USNET: &str = "usnet";
/// What to do for such a pod.
pub(super) const REMEDY: &str = "volume shared-dir is a folder of the node, which is rejected when the pod is created again: add the component legacy-pods (Kubernetes 1.36 or later), or change the volume to emptyDir: {}";

/// A pod that cannot be attached as it is.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) struct FolderPod {
    pub namespace: String,
    pub name: String,
    /// What creates the pod, as `kind name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Whether a pod selects one of the definitions, which are given by namespace and name.
pub(super) fn selects(pod: &Pod, definitions: &BTreeSet<(&str, &str)>) -> bool {
    let networks = pod.networks.as_deref().and_then(|text| selected(text, &pod.namespace).ok());
    networks.iter().flatten().any(|it| definitions.contains(&(&*it.namespace, &*it.name)))
}

/// Returns the pods with such a volume that select one of the definitions, which are given by
/// namespace and name.
pub(super) fn with_folders(pods: &[Pod], definitions: &BTreeSet<(&str, &str)>) -> Vec<FolderPod> {
    let has_folder = |pod: &&Pod| {
        pod.volumes.get(VOLUME) == Some(&false) && !pod.volumes.contains_key(VOLUME_OF_USNET) && !pod.has_ended()
    };
    let found = pods.iter().filter(has_folder).filter(|pod| selects(pod, definitions));
    let view =
        |pod: &Pod| FolderPod { namespace: pod.namespace.clone(), name: pod.name.clone(), owner: pod.owner.clone() };
    found.map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, networks: &str, volumes: &[(&str, bool)]) -> Pod {
        Pod {
            namespace: "web".to_owned(),
            name: name.to_owned(),
            networks: Some(networks.to_owned()),
            volumes: volumes.iter().map(|(name, is_empty)| ((*name).to_owned(), *is_empty)).collect(),
            ..Pod::default()
        }
    }

    #[test]
    fn only_pods_with_a_folder_and_a_legacy_definition_are_named() {
        let folder = [("shared-dir", false)];
        let mut ended = pod("ended", "old", &folder);
        ended.phase = "Succeeded".to_owned();
        let pods = [
            pod("short", "other, old@net2", &folder),
            pod("list", r#"[{"name": "old", "namespace": "web"}]"#, &folder),
            pod("other", "other,db/old", &folder),
            pod("own", "old", &[("shared-dir", true)]),
            pod("both", "old", &[("shared-dir", false), ("usnet", true)]),
            pod("invalid", "[", &folder),
            ended,
        ];
        let named: Vec<_> = with_folders(&pods, &[("web", "old")].into()).into_iter().map(|pod| pod.name).collect();
        assert_eq!(named, ["short", "list"]);
    }
}
