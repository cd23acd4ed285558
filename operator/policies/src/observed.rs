//! The objects of the cluster as last seen, as far as they are used. Pure. One object that cannot
//! be read keeps no other from being read.

use crate::definitions::{Definition, definition};
use crate::object_name::ObjectName;
use crate::shared::Shared;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::Selector;
use kube::runtime::watcher::Event;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_common::api::partial_object::{PartialObject, Text};
use usnet_common::api::reflector::{Reflector, map};
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::multi_network_policy::problem::{FieldProblem, PolicyProblem};
use usnet_crds::multi_network_policy::read::{ReadPolicy, read};
use usnet_crds::node_state::PolicyPod;
use usnet_crds::{
    CompiledPolicy, MultiNetworkPolicy, MultiNetworkPolicySpec, NetworkAttachmentDefinition, UserspaceNetwork,
    UserspaceNodeState, UserspacePodSlice, UserspacePodSliceSpec,
};

pub(crate) type PolicyObject = PartialObject<MultiNetworkPolicy, Text, IgnoredAny>;
pub(crate) type CompiledObject = PartialObject<CompiledPolicy, Text, IgnoredAny>;
pub(crate) type NetworkObject = PartialObject<UserspaceNetwork, NetworkPart, IgnoredAny>;
pub(crate) type DefinitionObject = PartialObject<NetworkAttachmentDefinition, DefinitionPart, IgnoredAny>;
pub(crate) type SliceObject = PartialObject<UserspacePodSlice, Text, IgnoredAny>;
pub(crate) type NodeStateObject = PartialObject<UserspaceNodeState, Text, Text>;
pub(crate) type PodObject = PartialObject<Pod, PodPart, IgnoredAny>;
pub(crate) type NamespaceObject = PartialObject<Namespace, IgnoredAny, IgnoredAny>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NetworkPart {
    policies: Option<String>,
    node_selector: Option<LabelSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodPart {
    node_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeSpecPart {
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeStatusPart {
    policy_pods: Vec<PolicyPod>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DefinitionPart {
    config: Option<String>,
}

/// A policy as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedPolicy {
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) read: ReadPolicy,
}

/// Whether a network has policies, and which nodes it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedNetwork {
    pub(crate) has_policies: bool,
    /// None if the network is on no node, because its selector cannot be read.
    pub(crate) nodes: Option<Selector>,
}

/// A node, with the pods that its agent has reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedNode {
    /// As the controller of networks has written them.
    pub(crate) labels: Arc<BTreeMap<String, String>>,
    pub(crate) pods: Vec<PolicyPod>,
}

/// A pod, as the API server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedPod {
    pub(crate) namespace: Arc<String>,
    pub(crate) name: Box<str>,
    pub(crate) node: Arc<String>,
    pub(crate) labels: Arc<BTreeMap<String, String>>,
}

#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) policies: Kept<ObjectName, ObservedPolicy>,
    pub(crate) networks: Kept<String, ObservedNetwork>,
    /// Those that are not for the network of their name.
    pub(crate) definitions: Kept<ObjectName, Definition>,
    /// None is one that cannot be read.
    pub(crate) compiled: Kept<String, Option<CompiledPolicySpec>>,
    /// None is one that cannot be read.
    pub(crate) slices: Kept<String, Option<UserspacePodSliceSpec>>,
    pub(crate) nodes: Kept<String, ObservedNode>,
    /// Those that are on a node, by uid.
    pub(crate) pods: Kept<String, ObservedPod>,
    /// The labels of namespaces.
    pub(crate) namespaces: Kept<String, Arc<BTreeMap<String, String>>>,
    labels: Shared<BTreeMap<String, String>>,
    texts: Shared<String>,
}

/// Objects of this program by name; `None` is one that cannot be read.
pub(crate) type Stored<T> = BTreeMap<String, Option<T>>;

/// What is kept of the objects of one kind.
#[derive(Debug)]
pub(crate) struct Kept<K, T> {
    /// As last observed, or written.
    pub(crate) objects: BTreeMap<K, T>,
    reflector: Reflector<K>,
}

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), reflector: Reflector::default() }
    }
}

impl<K: Ord + Clone, T: PartialEq> Kept<K, T> {
    /// Returns whether anything changed.
    fn observe(&mut self, event: Event<(K, T)>) -> bool {
        let is_complete = matches!(event, Event::InitDone);
        !self.reflector.apply(&mut self.objects, event).is_empty() || is_complete
    }
}

impl Observed {
    /// Whether everything was listed once: what is missing is not there.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing().is_empty()
    }

    /// The kinds that were not listed yet.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let kinds = [
            ("MultiNetworkPolicies", self.policies.reflector.is_complete()),
            ("UserspaceNetworks", self.networks.reflector.is_complete()),
            ("NetworkAttachmentDefinitions", self.definitions.reflector.is_complete()),
            ("CompiledPolicies", self.compiled.reflector.is_complete()),
            ("UserspacePodSlices", self.slices.reflector.is_complete()),
            ("UserspaceNodeStates", self.nodes.reflector.is_complete()),
            ("Pods", self.pods.reflector.is_complete()),
            ("Namespaces", self.namespaces.reflector.is_complete()),
        ];
        kinds.into_iter().filter(|(_, is_complete)| !is_complete).map(|(kind, _)| kind).collect()
    }

    pub(crate) fn policy(&mut self, event: Event<PolicyObject>) -> bool {
        self.policies.observe(map(event, |object| (name_of(&object), observed_policy(object))))
    }

    pub(crate) fn network(&mut self, event: Event<NetworkObject>) -> bool {
        let settings = |object: &NetworkObject| ObservedNetwork {
            has_policies: object.spec.policies.as_deref() == Some("Enabled"),
            nodes: Selector::try_from(object.spec.node_selector.clone().unwrap_or_default()).ok(),
        };
        self.networks.observe(map(event, |object| (object.name_any(), settings(&object))))
    }

    pub(crate) fn compiled(&mut self, event: Event<CompiledObject>) -> bool {
        let spec = |object: &CompiledObject| serde_json::from_str(object.spec.as_deref().map(RawValue::get)?).ok();
        self.compiled.observe(map(event, |object| (object.name_any(), spec(&object))))
    }

    pub(crate) fn slice(&mut self, event: Event<SliceObject>) -> bool {
        let spec = |object: &SliceObject| serde_json::from_str(object.spec.as_deref().map(RawValue::get)?).ok();
        self.slices.observe(map(event, |object| (object.name_any(), spec(&object))))
    }

    pub(crate) fn namespace(&mut self, event: Event<NamespaceObject>) -> bool {
        let labels = |object: &NamespaceObject| Arc::new(object.labels().clone());
        self.namespaces.observe(map(event, |object| (object.name_any(), labels(&object))))
    }

    pub(crate) fn node(&mut self, event: Event<NodeStateObject>) -> bool {
        let node = |object: &NodeStateObject| {
            let spec: NodeSpecPart = object.spec().unwrap_or_default();
            let status: NodeStatusPart = object.status().ok().flatten().unwrap_or_default();
            ObservedNode { labels: Arc::new(spec.labels), pods: status.policy_pods }
        };
        self.nodes.observe(map(event, |object| (object.name_any(), node(&object))))
    }

    pub(crate) fn pod(&mut self, event: Event<PodObject>) -> bool {
        let Self { pods, labels, texts, .. } = self;
        let shared = std::cell::RefCell::new((labels, texts));
        pods.observe(map(event, |object| {
            let (labels, texts) = &mut *shared.borrow_mut();
            let pod = ObservedPod {
                namespace: texts.get(object.namespace().unwrap_or_default()),
                name: object.name_any().into(),
                node: texts.get(object.spec.node_name.clone().unwrap_or_default()),
                labels: labels.get(object.labels().clone()),
            };
            (object.metadata.uid.unwrap_or_default(), pod)
        }))
    }

    pub(crate) fn definition(&mut self, event: Event<DefinitionObject>) -> bool {
        let kept = |object: &DefinitionObject| {
            definition(&object.name_any(), object.spec.config.as_deref().unwrap_or_default())
        };
        match event {
            Event::Apply(object) | Event::InitApply(object) if kept(&object).is_none() => {
                self.definitions.objects.remove(&name_of(&object)).is_some()
            }
            event => self
                .definitions
                .observe(map(event, |object| (name_of(&object), kept(&object).unwrap_or(Definition::Other)))),
        }
    }
}

fn name_of(object: &impl ResourceExt) -> ObjectName {
    ObjectName { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

fn observed_policy(object: PolicyObject) -> ObservedPolicy {
    let PolicyObject { metadata, spec, .. } = object;
    let (uid, generation) = (metadata.uid.clone().unwrap_or_default(), metadata.generation.unwrap_or_default());
    let (spec, unreadable) = match spec.as_deref().map_or(Ok(None), |text| serde_json::from_str(text.get())) {
        Ok(spec) => (spec.unwrap_or_default(), None),
        Err(error) => (closed(), Some(error.to_string())),
    };
    let mut read = read(&MultiNetworkPolicy { metadata, spec });
    let problem = |text| FieldProblem { field: "spec".to_owned(), problem: PolicyProblem::Unreadable(text) };
    read.problems.extend(unreadable.map(problem));
    ObservedPolicy { uid, generation, read }
}

/// A spec that restricts all pods and allows nothing.
fn closed() -> MultiNetworkPolicySpec {
    MultiNetworkPolicySpec { policy_types: ["Ingress", "Egress"].map(str::to_owned).into(), ..Default::default() }
}
