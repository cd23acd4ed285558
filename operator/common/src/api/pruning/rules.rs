//! What is used of the objects of each kind.

use usnet_crds::legacy::CONFIG_MAX;
use usnet_crds::nad::{FROM_NAD_LABEL, NETWORK_LABEL, RESOURCE_ANNOTATION};
use usnet_crds::network::FORCE_DELETE;

/// Some fields of an object, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Used {
    All,
    /// The fields with these names.
    Only(&'static [&'static str]),
}

/// The fields of a kind of object that are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) metadata: Used,
    pub(super) labels: Used,
    pub(super) annotations: Used,
    pub(super) spec: Used,
    pub(super) status: Used,
}

/// The metadata that is used of objects and of lists. `managedFields` are not: each manager of
/// fields adds as much as it sets.
const METADATA: Used = Used::Only(&[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "continue",
    "remainingItemCount",
]);
const NONE: Used = Used::Only(&[]);
/// The longest value of an annotation that is used. Longer ones are none of usnet's.
pub(super) const ANNOTATION_MAX: usize = 1024;
/// The field whose text may have [`CONFIG_MAX`] bytes: of a NetworkAttachmentDefinition.
pub(super) const CONFIG: &str = "config";
/// Its longest text.
pub(super) const CONFIG_TEXT_MAX: usize = CONFIG_MAX;
/// Finalizers and owners of an object that are used. Users may add some; those of usnet are set
/// when the object is created, or soon after.
pub(super) const LIST_MAX: usize = 32;

const SPEC_AND_STATUS: Rules =
    Rules { metadata: METADATA, labels: NONE, annotations: NONE, spec: Used::All, status: Used::All };

/// The rules for requests with this path. Of kinds that only the control plane writes everything is
/// used but their metadata. What is written back as a whole must not be pruned: no such kind is
/// listed here.
pub(super) fn of(path: &str) -> Rules {
    match resource(path) {
        "userspacenetworks" => {
            Rules { labels: Used::Only(&[FROM_NAD_LABEL]), annotations: Used::Only(&[FORCE_DELETE]), ..SPEC_AND_STATUS }
        }
        "userspaceattachments"
        | "userspacereservations"
        | "userspaceuplinks"
        | "userspacenodestates"
        | "userspacenodeslices"
        | "userspacepodslices"
        | "compilednetworks"
        | "compiledpolicies" => SPEC_AND_STATUS,
        "network-attachment-definitions" => Rules {
            labels: Used::Only(&[NETWORK_LABEL]),
            annotations: Used::Only(&[RESOURCE_ANNOTATION]),
            spec: Used::Only(&[CONFIG]),
            status: NONE,
            ..SPEC_AND_STATUS
        },
        // Networks select both by any label.
        "namespaces" => Rules { labels: Used::All, spec: NONE, status: NONE, ..SPEC_AND_STATUS },
        "nodes" => {
            Rules { labels: Used::All, spec: NONE, status: Used::Only(&["conditions", "addresses"]), ..SPEC_AND_STATUS }
        }
        // Policies select them by any label.
        "pods" => Rules {
            labels: Used::All,
            spec: Used::Only(&["nodeName", "hostNetwork"]),
            status: Used::Only(&["phase"]),
            ..SPEC_AND_STATUS
        },
        _ => {
            Rules { metadata: Used::All, labels: Used::All, annotations: Used::All, spec: Used::All, status: Used::All }
        }
    }
}

/// The resource of a path, with its subresource: `pods` and `pods/status` differ. The agent reads
/// annotations from the latter, of one pod after the other.
fn resource(path: &str) -> &str {
    let path = path.trim_start_matches('/');
    let below = match path.split_once('/') {
        Some(("api", rest)) => rest.split_once('/').map(|(_, rest)| rest),
        Some(("apis", rest)) => rest.splitn(3, '/').nth(2),
        _ => None,
    };
    let Some(below) = below else { return "" };
    let in_namespace = below.strip_prefix("namespaces/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    let (resource, rest) = match in_namespace.unwrap_or(below).split_once('/') {
        Some((resource, rest)) => (resource, rest),
        None => (in_namespace.unwrap_or(below), ""),
    };
    if resource == "pods" && rest.contains('/') { "" } else { resource }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_is_found_in_every_form_of_path() {
        for (path, expected) in [
            ("/api/v1/namespaces", "namespaces"),
            ("/api/v1/namespaces/a", "namespaces"),
            ("/api/v1/nodes", "nodes"),
            ("/api/v1/namespaces/a/pods/b", "pods"),
            ("/api/v1/namespaces/a/pods/b/status", ""),
            ("/apis/usnet.dev/v1alpha1/userspaceattachments", "userspaceattachments"),
            ("/apis/usnet.dev/v1alpha1/namespaces/a/userspaceattachments/b/status", "userspaceattachments"),
            ("/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "leases"),
            ("/version", ""),
            ("/api", ""),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }
}
