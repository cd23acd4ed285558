//! The objects of the cluster as last seen, and what is read from them. Pure.

use super::image_check::{self, ImageCheck};
use super::pod_health::{self, PodHealth};
use super::{OBJECT_LABEL, POD_ANNOTATION, SETTINGS_ANNOTATION, exchange};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use std::collections::BTreeMap;
use usnet_common::api::reflector::Objects;
use usnet_crds::{EngineKind, UserspaceEngine, UserspaceNetwork, UserspaceNodeState};

/// The agent of a node notices the end of an engine within 2 s.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) engines: Objects<UserspaceEngine>,
    pub(super) daemon_sets: Objects<DaemonSet>,
    pub(super) config_maps: Objects<ConfigMap>,
    pub(super) pods: Objects<Pod>,
    pub(super) nodes: Objects<UserspaceNodeState>,
    pub(super) networks: Objects<UserspaceNetwork>,
}

/// A pod of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EnginePod {
    pub(super) name: String,
    pub(super) node: String,
    /// The hash of what its engine was started with.
    pub(super) settings: String,
    /// The hash of what cannot change in it.
    pub(super) unchangeable: String,
    /// How often the container of the engine was restarted; none if it was never started.
    pub(super) restarts: Option<i32>,
    /// Whether its node can run the current image.
    pub(super) image: ImageCheck,
    /// Whether its image was exchanged and kubelet has not acted on that yet.
    pub(super) is_exchanging: bool,
    /// Whether it is being deleted.
    pub(super) is_ending: bool,
    /// Whether it has been ready for a moment: the agent of the node may still say what was true
    /// of its predecessor.
    pub(super) is_settled: bool,
    pub(super) health: PodHealth,
    /// What makes its engine worse: a reason and a text for users.
    pub(super) warning: Option<(&'static str, String)>,
}

impl Observed {
    /// Whether everything was listed once: what is missing is not there.
    pub(super) fn is_complete(&self) -> bool {
        self.engines.is_complete()
            && self.daemon_sets.is_complete()
            && self.config_maps.is_complete()
            && self.pods.is_complete()
            && self.nodes.is_complete()
            && self.networks.is_complete()
    }

    /// The image of a pod, by its first container.
    pub(super) fn image_of(&self, pod: &str) -> Option<&str> {
        self.pods.by_name.get(pod)?.spec.as_ref()?.containers.first()?.image.as_deref()
    }

    /// The pods of an object, by node.
    pub(super) fn pods_of(&self, object: &UserspaceEngine, now: Timestamp) -> BTreeMap<String, EnginePod> {
        let (object, spec) = (object.name_any(), &object.spec);
        let engine = spec.engine;
        let of_object = self.pods.by_name.values().filter(|pod| owner(pod) == Some(object.as_str()));
        let mut found: BTreeMap<String, EnginePod> = BTreeMap::new();
        for pod in of_object {
            let Some(node) = pod_health::node_of(pod) else { continue };
            let is_taken = self.other_owner(pod, &node, engine);
            let annotation = |key: &str| pod.annotations().get(key).cloned().unwrap_or_default();
            let described = EnginePod {
                name: pod.name_any(),
                settings: annotation(SETTINGS_ANNOTATION),
                unchangeable: annotation(POD_ANNOTATION),
                restarts: exchange::restarts(pod),
                image: image_check::of(pod, &spec.image),
                is_exchanging: exchange::is_awaited(pod, now),
                is_ending: pod.metadata.deletion_timestamp.is_some(),
                is_settled: pod_health::ready_since(pod).is_some_and(|since| now >= since + SETTLED_AFTER),
                health: pod_health::health(pod, engine, self.nodes.by_name.get(&node), is_taken.as_deref(), now),
                warning: self.nodes.by_name.get(&node).and_then(|state| pod_health::warning(engine, state)),
                node: node.clone(),
            };
            // The one that ends and its successor are there together.
            let replaces = |other: &EnginePod| other.is_ending;
            if found.get(&node).is_none_or(replaces) {
                found.insert(node, described);
            }
        }
        found
    }

    /// Another object that has an older pod of the same engine on a node.
    fn other_owner(&self, pod: &Pod, node: &str, engine: EngineKind) -> Option<String> {
        let is_older = |other: &&Pod| {
            owner(other) != owner(pod)
                && other.labels().get(super::ENGINE_LABEL).is_some_and(|of| of == engine.traits().api_name)
                && pod_health::node_of(other).is_some_and(|of| of == node)
                && (&other.metadata.creation_timestamp, other.name_any())
                    < (&pod.metadata.creation_timestamp, pod.name_any())
        };
        self.pods.by_name.values().find(is_older).and_then(owner).map(ToOwned::to_owned)
    }
}

fn owner(pod: &Pod) -> Option<&str> {
    pod.labels().get(OBJECT_LABEL).map(String::as_str)
}
