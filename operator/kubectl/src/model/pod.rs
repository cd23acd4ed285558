//! The fields of a pod that concern its networks; a large cluster has tens of thousands of pods.

use k8s_openapi::api::core::v1::{self, ContainerStatus};
use k8s_openapi::jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The annotation that Multus reads.
pub(crate) const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
/// The annotation in which Multus reports interfaces.
pub(crate) const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";
/// The annotation in which usnet and Intel's userspace CNI write where the pod mounts its sockets.
const MAPPED_DIR: &str = "userspace/mapped-dir";
/// The annotation by which the kubelet marks the mirror pod of a static pod. Its value is the uid
/// of the static pod; the mirror pod in the API server has another uid.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The label that names the component of usnet.
const COMPONENT: &str = "app.kubernetes.io/component";
/// The prefix of the extended resources of networks.
pub(crate) const RESOURCE_PREFIX: &str = "usnet.dev/";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pod {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The uid by which the kubelet, the container runtime and the agent know the pod.
    pub runtime_uid: String,
    /// The component of usnet, by its label.
    pub component: Option<String>,
    /// The value of the annotation [`NETWORKS`].
    pub networks: Option<String>,
    /// The value of the annotation [`NETWORK_STATUS`].
    pub network_status: Option<String>,
    /// The value of the annotation [`MAPPED_DIR`].
    pub mapped_dir: Option<String>,
    /// The owner, as `kind name`.
    pub owner: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub created: Option<Timestamp>,
    pub is_deleting: bool,
    /// `None` while the pod is not scheduled.
    pub node: Option<String>,
    pub host_network: bool,
    /// Whether each volume is an emptyDir.
    pub volumes: BTreeMap<String, bool>,
    /// The mounts of each volume that is mounted.
    pub mounted: BTreeMap<String, Vec<Mount>>,
    /// The extended resources of networks that the containers request.
    pub resources: BTreeSet<String>,
    pub claims: Vec<PodClaim>,
    /// `Pending`, `Running`, `Succeeded` or `Failed`.
    pub phase: String,
    pub is_ready: bool,
    /// The scheduler's message if the pod cannot be scheduled.
    pub unscheduled: Option<String>,
    /// Why the whole pod has failed, in one word, and the message.
    pub failure: Option<(String, String)>,
    /// The containers without init containers.
    pub containers: Vec<Container>,
    pub init_containers: Vec<Container>,
}

/// A resource claim that a pod lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PodClaim {
    /// The name in the pod.
    pub name: String,
    /// The name of the ResourceClaim; `None` while it is not created from its template.
    pub claim: Option<String>,
    /// The name of the ResourceClaimTemplate, if there is one.
    pub template: Option<String>,
}

/// A mount of a volume in a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mount {
    pub container: String,
    pub path: String,
    /// The value of `subPath` or `subPathExpr`.
    pub sub_path: Option<String>,
    pub is_read_only: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Container {
    pub name: String,
    /// The image as written in the spec.
    pub image: String,
    /// The digest of the image.
    pub image_id: String,
    /// The command and its arguments, as the pod has them.
    pub command: Vec<String>,
    pub is_running: bool,
    /// Whether it is an init container that runs beside the containers of the pod (a sidecar).
    pub restarts_always: bool,
    /// The reason why the container is waiting or terminated.
    pub reason: Option<String>,
    pub restarts: i32,
    /// How it ended last.
    pub last_end: Option<End>,
}

/// The end of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub reason: String,
    pub exit_code: i32,
    pub message: String,
}

impl Pod {
    /// Returns `namespace/name`.
    pub(crate) fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether the pod has ended or is being deleted.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_deleting || matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns the STATUS of `kubectl get pods`.
    pub(crate) fn state(&self) -> &str {
        let waiting = self.containers.iter().find_map(|container| container.reason.as_deref());
        match waiting {
            _ if self.is_deleting => "Terminating",
            Some(reason) if self.phase != "Succeeded" => reason,
            _ => &self.phase,
        }
    }

    /// Whether an init container has this name. One that restarts always is like another container.
    pub(crate) fn is_init_container(&self, name: &str) -> bool {
        self.init_containers.iter().any(|container| container.name == name && !container.restarts_always)
    }

    pub(crate) fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == name)
    }
}

impl From<v1::Pod> for Pod {
    fn from(pod: v1::Pod) -> Self {
        let (metadata, spec, status) = (pod.metadata, pod.spec.unwrap_or_default(), pod.status.unwrap_or_default());
        let annotation = |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key)).cloned();
        let condition = |kind: &str| status.conditions.iter().flatten().find(|condition| condition.type_ == kind);
        let unscheduled = condition("PodScheduled").filter(|condition| condition.status == "False");
        let volumes = spec.volumes.iter().flatten();
        let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let statuses = [&status.container_statuses, &status.init_container_statuses];
        let statuses: Vec<_> = statuses.into_iter().flatten().flatten().collect();
        let view = |container: &v1::Container| {
            let status = statuses.iter().find(|status| status.name == container.name);
            container_view(container, status.copied())
        };
        let owner = metadata.owner_references.iter().flatten().next();
        Self {
            component: metadata.labels.as_ref().and_then(|labels| labels.get(COMPONENT)).cloned(),
            networks: annotation(NETWORKS),
            network_status: annotation(NETWORK_STATUS),
            mapped_dir: annotation(MAPPED_DIR),
            owner: owner.map(|owner| format!("{} {}", owner.kind, owner.name)),
            labels: metadata.labels.clone().unwrap_or_default(),
            claims: claims(&spec, &status),
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            runtime_uid: annotation(MIRROR).or_else(|| metadata.uid.clone()).unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            created: metadata.creation_timestamp.map(|time| time.0),
            is_deleting: metadata.deletion_timestamp.is_some(),
            host_network: spec.host_network == Some(true),
            volumes: volumes.map(|volume| (volume.name.clone(), volume.empty_dir.is_some())).collect(),
            mounted: mounts(containers.clone()),
            resources: containers.flat_map(resources).collect(),
            containers: spec.containers.iter().map(view).collect(),
            init_containers: spec.init_containers.iter().flatten().map(view).collect(),
            failure: status.reason.clone().map(|reason| (reason, status.message.clone().unwrap_or_default())),
            node: spec.node_name.filter(|node| !node.is_empty()),
            is_ready: condition("Ready").is_some_and(|condition| condition.status == "True"),
            unscheduled: unscheduled.map(|condition| condition.message.clone().unwrap_or_default()),
            phase: status.phase.unwrap_or_default(),
        }
    }
}

fn claims(spec: &v1::PodSpec, status: &v1::PodStatus) -> Vec<PodClaim> {
    let created = |name: &str| {
        let status = status.resource_claim_statuses.iter().flatten().find(|status| status.name == name);
        status.and_then(|status| status.resource_claim_name.clone())
    };
    let claim = |claim: &v1::PodResourceClaim| PodClaim {
        name: claim.name.clone(),
        claim: claim.resource_claim_name.clone().or_else(|| created(&claim.name)),
        template: claim.resource_claim_template_name.clone(),
    };
    spec.resource_claims.iter().flatten().map(claim).collect()
}

fn mounts<'a>(containers: impl Iterator<Item = &'a v1::Container>) -> BTreeMap<String, Vec<Mount>> {
    let mut mounted: BTreeMap<String, Vec<Mount>> = BTreeMap::new();
    for container in containers {
        for mount in container.volume_mounts.iter().flatten() {
            let sub_path = mount.sub_path.clone().or_else(|| mount.sub_path_expr.clone());
            mounted.entry(mount.name.clone()).or_default().push(Mount {
                container: container.name.clone(),
                path: mount.mount_path.clone(),
                sub_path: sub_path.filter(|path| !path.is_empty()),
                is_read_only: mount.read_only == Some(true),
            });
        }
    }
    mounted
}

fn resources(container: &v1::Container) -> impl Iterator<Item = String> + use<'_> {
    let limits = container.resources.iter().filter_map(|resources| resources.limits.as_ref());
    limits.flat_map(|limits| limits.keys()).filter(|name| name.starts_with(RESOURCE_PREFIX)).cloned()
}

fn end(ended: &v1::ContainerStateTerminated) -> End {
    End {
        reason: ended.reason.clone().unwrap_or_default(),
        exit_code: ended.exit_code,
        message: ended.message.clone().unwrap_or_default(),
    }
}

fn container_view(container: &v1::Container, status: Option<&ContainerStatus>) -> Container {
    let state = status.and_then(|status| status.state.as_ref());
    let waiting = state.and_then(|state| state.waiting.as_ref()).and_then(|waiting| waiting.reason.clone());
    let last = status.and_then(|status| status.last_state.as_ref());
    let ended = |state: Option<&v1::ContainerState>| state.and_then(|state| state.terminated.as_ref()).map(end);
    let terminated = ended(state);
    Container {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        command: container.command.iter().chain(&container.args).flatten().cloned().collect(),
        image_id: status.map(|status| status.image_id.clone()).unwrap_or_default(),
        is_running: state.is_some_and(|state| state.running.is_some()),
        restarts_always: container.restart_policy.as_deref() == Some("Always"),
        reason: waiting.or_else(|| terminated.as_ref().map(|ended| ended.reason.clone())),
        last_end: terminated.or_else(|| ended(last)),
        restarts: status.map(|status| status.restart_count).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_static_pod_is_known_to_its_node_by_another_uid() {
        let copy = json!({"metadata": {"uid": "of-the-copy", "annotations": {MIRROR: "0123abcd"}}});
        let pod = Pod::from(serde_json::from_value::<v1::Pod>(copy).unwrap());
        assert_eq!((pod.uid.as_str(), pod.runtime_uid.as_str()), ("of-the-copy", "0123abcd"));
    }

    #[test]
    fn fields_that_concern_networks_are_kept() {
        let pod = json!({
            "metadata": {
                "namespace": "web", "name": "dpdk-0", "uid": "u", "annotations": {NETWORKS: "blue"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "dpdk", "uid": "s"}],
            },
            "spec": {
                "nodeName": "node-a",
                "volumes": [{"name": "usnet", "emptyDir": {}}],
                "containers": [{
                    "name": "app", "image": "app:1", "volumeMounts": [{"name": "usnet", "mountPath": "/run/usnet"}],
                    "resources": {"limits": {"usnet.dev/blue": "1", "cpu": "1"}},
                }],
            },
            "status": {
                "phase": "Pending",
                "containerStatuses": [{
                    "name": "app", "image": "app:1", "imageID": "", "ready": false, "restartCount": 2,
                    "state": {"waiting": {"reason": "ContainerCreating"}},
                }],
            },
        });
        let pod = Pod::from(serde_json::from_value::<v1::Pod>(pod).unwrap());
        assert_eq!((pod.reference().as_str(), pod.state()), ("web/dpdk-0", "ContainerCreating"));
        assert_eq!((pod.networks.as_deref(), pod.owner.as_deref()), (Some("blue"), Some("StatefulSet dpdk")));
        assert_eq!(pod.volumes, BTreeMap::from([("usnet".to_owned(), true)]));
        let mount = Mount { container: "app".to_owned(), path: "/run/usnet".to_owned(), ..Mount::default() };
        assert_eq!((pod.mounted.get("usnet"), pod.has_ended()), (Some(&vec![mount]), false));
        assert_eq!((pod.uid.as_str(), pod.runtime_uid.as_str()), ("u", "u"));
        assert_eq!(pod.resources, BTreeSet::from(["usnet.dev/blue".to_owned()]));
        assert_eq!(pod.container("app").map(|container| container.restarts), Some(2));
    }
}
