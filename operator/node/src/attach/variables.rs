//! The variables of a CNI call: those that the agent sends, and those that the service accepts.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use usnet_dataplane::attachment::{AttachmentId, Pod};

/// The variables that a request may set. The service itself sets those that decide which programs
/// run.
const OF_REQUESTS: [&str; 5] = [CONTAINER, NETWORK_NAMESPACE, INTERFACE, ARGUMENTS, "CNI_NETNS_OVERRIDE"];
const CONTAINER: &str = "CNI_CONTAINERID";
const NETWORK_NAMESPACE: &str = "CNI_NETNS";
const INTERFACE: &str = "CNI_IFNAME";
const ARGUMENTS: &str = "CNI_ARGS";
/// The folders in which container runtimes keep the network namespaces of pods.
const NETWORK_NAMESPACES: [&str; 2] = ["/run/netns", "/var/run/netns"];
/// Stands for the network namespace of a pod that has none yet: the plugin's own. IPAM plugins
/// refuse ADD without a network namespace.
pub const NO_NETWORK_NAMESPACE: &str = "/proc/self/ns/net";

/// A request whose network namespace does not belong to a pod.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "CNI_NETNS is {0:?}: it must be the network namespace of a pod, which is a file of /run/netns or /var/run/netns"
)]
pub(super) struct ForeignNamespace(String);

/// Returns the variables of a request that are passed to the plugin.
///
/// # Errors
/// The network namespace does not belong to a pod. The plugin, which may enter any, would put the
/// interface into the node's.
pub(super) fn accepted(
    requested: &BTreeMap<String, String>,
) -> Result<impl Iterator<Item = (&String, &String)>, ForeignNamespace> {
    match requested.get(NETWORK_NAMESPACE) {
        Some(namespace) if !is_of_pod(namespace) => Err(ForeignNamespace(namespace.clone())),
        _ => Ok(requested.iter().filter(|(name, _)| OF_REQUESTS.contains(&name.as_str()))),
    }
}

fn is_of_pod(namespace: &str) -> bool {
    if namespace.is_empty() || namespace == NO_NETWORK_NAMESPACE {
        return true;
    }
    let is_file_of = |folder: &&str| {
        let rest = Path::new(namespace).strip_prefix(folder).ok();
        let parts: Vec<Component<'_>> = rest.map(|rest| rest.components().collect()).unwrap_or_default();
        matches!(parts.as_slice(), [Component::Normal(_)])
    };
    NETWORK_NAMESPACES.iter().any(is_file_of)
}

/// Returns the variables of a call for an interface of a pod as Multus would set them, without
/// `CNI_COMMAND` and `CNI_PATH`.
pub fn variables(pod: &Pod, id: &AttachmentId, network_namespace: &Path) -> BTreeMap<String, String> {
    let container = &id.container;
    let arguments = format!(
        "IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={}",
        pod.namespace, pod.name, pod.uid
    );
    let variables = [
        (CONTAINER, container.to_string()),
        (NETWORK_NAMESPACE, network_namespace.display().to_string()),
        (INTERFACE, id.interface.to_string()),
        (ARGUMENTS, arguments),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn no_request_chooses_a_program() {
        let wanted =
            [("CNI_ARGS", "a=b"), ("CNI_CONTAINERID", "c1"), ("CNI_IFNAME", "net1"), ("CNI_NETNS_OVERRIDE", "1")];
        let others =
            ["CNI_PATH", "CNI_COMMAND", "CNI_NETNS2", "PATH", "LD_PRELOAD", "HOME", "USNET_RUN_DIR", "cni_path"];
        let mut all = wanted.to_vec();
        all.extend(others.map(|name| (name, "/tmp")));
        let all = requested(&all);
        let names: Vec<_> = accepted(&all).unwrap().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(names, wanted);
    }

    #[test]
    fn only_network_namespaces_of_pods_are_entered() {
        for namespace in ["", "/run/netns/cni-1", "/var/run/netns/cni-1", "/proc/self/ns/net"] {
            assert!(accepted(&requested(&[("CNI_NETNS", namespace)])).is_ok(), "{namespace}");
        }
        for namespace in [
            "/proc/1/ns/net",
            "/node/proc/1/ns/net",
            "/run/netns",
            "/run/netns/",
            "/run/netns/..",
            "/run/netns/../x",
            "/run/netns/a/../../../proc/1/ns/net",
            "/run/netnsx/a",
            "netns",
            "/run//../run/netns/x",
            "/proc/self/ns/../../1/ns/net",
        ] {
            assert!(accepted(&requested(&[("CNI_NETNS", namespace)])).is_err(), "{namespace}");
        }
    }
}
