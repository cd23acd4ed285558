//! The objects of the cluster as last seen, as far as they are used. Pure. One object that cannot
//! be read keeps no other from being read.

use crate::definitions::{Definition, definition};
use crate::object_name::ObjectName;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use usnet_common::api::partial_object::{PartialObject, Text};
use usnet_common::api::reflector::{Reflector, map};
use usnet_crds::compiled_policy::spec::CompiledPolicySpec;
use usnet_crds::multi_network_policy::problem::{FieldProblem, PolicyProblem};
use usnet_crds::multi_network_policy::read::{ReadPolicy, read};
use usnet_crds::{
    CompiledPolicy, MultiNetworkPolicy, MultiNetworkPolicySpec, NetworkAttachmentDefinition, UserspaceNetwork,
};

pub(crate) type PolicyObject = PartialObject<MultiNetworkPolicy, Text, IgnoredAny>;
pub(crate) type CompiledObject = PartialObject<CompiledPolicy, Text, IgnoredAny>;
pub(crate) type NetworkObject = PartialObject<UserspaceNetwork, NetworkPart, IgnoredAny>;
pub(crate) type DefinitionObject = PartialObject<NetworkAttachmentDefinition, DefinitionPart, IgnoredAny>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NetworkPart {
    policies: Option<String>,
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

/// Whether a network has policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObservedNetwork {
    pub(crate) has_policies: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) policies: Kept<ObjectName, ObservedPolicy>,
    pub(crate) networks: Kept<String, ObservedNetwork>,
    /// Those that are not for the network of their name.
    pub(crate) definitions: Kept<ObjectName, Definition>,
    /// None is one that cannot be read.
    pub(crate) compiled: Kept<String, Option<CompiledPolicySpec>>,
}

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
    fn observe(&mut self, event: Event<(K, T)>) {
        self.reflector.apply(&mut self.objects, event);
    }
}

impl Observed {
    /// Whether everything was listed once: what is missing is not there.
    pub(crate) const fn is_complete(&self) -> bool {
        self.policies.reflector.is_complete()
            && self.networks.reflector.is_complete()
            && self.definitions.reflector.is_complete()
            && self.compiled.reflector.is_complete()
    }

    pub(crate) fn policy(&mut self, event: Event<PolicyObject>) {
        self.policies.observe(map(event, |object| (name_of(&object), observed_policy(object))));
    }

    pub(crate) fn network(&mut self, event: Event<NetworkObject>) {
        let settings = |object: &NetworkObject| ObservedNetwork {
            has_policies: object.spec.policies.as_deref() == Some("Enabled"),
        };
        self.networks.observe(map(event, |object| (object.name_any(), settings(&object))));
    }

    pub(crate) fn compiled(&mut self, event: Event<CompiledObject>) {
        let spec = |object: &CompiledObject| serde_json::from_str(object.spec.as_deref().map(RawValue::get)?).ok();
        self.compiled.observe(map(event, |object| (object.name_any(), spec(&object))));
    }

    pub(crate) fn definition(&mut self, event: Event<DefinitionObject>) {
        let kept = |object: &DefinitionObject| {
            definition(&object.name_any(), object.spec.config.as_deref().unwrap_or_default())
        };
        match event {
            Event::Apply(object) | Event::InitApply(object) if kept(&object).is_none() => {
                self.definitions.objects.remove(&name_of(&object));
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
