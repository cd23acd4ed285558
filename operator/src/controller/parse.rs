//! From the objects of the API server to [`super::inputs`]: each object is read once, where it enters, and only what a pass looks at is kept.

use super::inputs::{Definition, DefinitionKey, Namespace, Network, Node, NodeState, NodeStatus};
use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::{Resource, ResourceExt};
use usnet_crds::conditions::{engine_connected, find, reason};
use usnet_crds::definition::{FROM_NAD_LABEL, FROM_NAD_VALUE, NETWORK_LABEL, RESOURCE_ANNOTATION};
use usnet_crds::legacy;
use usnet_crds::network::{FINALIZER, FORCE_DELETE};
use usnet_crds::node_state::UserspaceNodeStateStatus;
use usnet_crds::validate::validate;
use usnet_crds::{Engine, NetworkAttachmentDefinition, UserspaceNetwork, UserspaceNodeState};

pub(crate) fn network(object: &DeserializeGuard<UserspaceNetwork>) -> (String, Network) {
    let metadata = object.meta();
    let name = metadata.name.clone().unwrap_or_default();
    let (spec, status) = match &object.0 {
        Ok(network) => (validate(network).map_err(|invalid| invalid.to_string()), network.status.clone()),
        Err(unreadable) => (Err(format!("the object cannot be read: {}", unreadable.error)), None),
    };
    let network = Network {
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        is_deleting: metadata.deletion_timestamp.is_some(),
        deletion_asked: metadata.deletion_timestamp.clone(),
        has_from_nad_label: label(metadata, FROM_NAD_LABEL).as_deref() == Some(FROM_NAD_VALUE),
        has_finalizer: metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER),
        force_delete: annotation(metadata, FORCE_DELETE),
        spec,
        status,
    };
    (name, network)
}

pub(super) fn namespace(object: &PartialObjectMeta<v1::Namespace>) -> (String, Namespace) {
    let is_deleting = object.metadata.deletion_timestamp.is_some();
    (object.name_any(), Namespace { labels: object.metadata.labels.clone().unwrap_or_default(), is_deleting })
}

pub(super) fn node(object: &DeserializeGuard<v1::Node>) -> (String, Node) {
    let metadata = object.meta();
    let conditions = object.0.as_ref().ok().and_then(|node| node.status.as_ref()?.conditions.as_ref());
    let ready = |condition: &v1::NodeCondition| condition.type_ == "Ready" && condition.status == "True";
    let node = Node {
        uid: metadata.uid.clone().unwrap_or_default(),
        created: metadata.creation_timestamp.clone(),
        labels: metadata.labels.clone().unwrap_or_default(),
        is_ready: conditions.is_some_and(|conditions| conditions.iter().any(ready)),
    };
    (metadata.name.clone().unwrap_or_default(), node)
}

pub(super) fn node_state(object: &DeserializeGuard<UserspaceNodeState>) -> (String, NodeState) {
    let metadata = object.meta();
    let name = metadata.name.clone().unwrap_or_default();
    let owner = owner(metadata, "v1", "Node", &name);
    let generation = metadata.generation.unwrap_or_default();
    let uid = metadata.uid.clone().unwrap_or_default();
    let created = metadata.creation_timestamp.clone();
    let (networks, is_disordered, status) = match &object.0 {
        Ok(state) => {
            let networks = &state.spec.networks;
            let is_disordered = !networks.is_sorted_by(|one, two| one.name < two.name);
            (Some(networks.iter().cloned().collect()), is_disordered, state.status.as_ref().map(node_status))
        }
        Err(unreadable) => {
            tracing::warn!(
                node = name,
                error = unreadable.error,
                "UserspaceNodeState cannot be read and is written again"
            );
            (None, false, None)
        }
    };
    (name, NodeState { uid, created, owner, generation, networks, is_disordered, status })
}

pub(crate) fn node_status(status: &UserspaceNodeStateStatus) -> NodeStatus {
    let is_missing = |engine: &Engine| {
        let connected = find(&status.conditions, engine_connected(*engine));
        connected.is_some_and(|condition| condition.reason == reason::NEVER_SEEN)
    };
    NodeStatus {
        observed_generation: status.observed_generation,
        missing_engines: Engine::ALL.into_iter().filter(is_missing).collect(),
        reports: status.networks.iter().cloned().collect(),
    }
}

pub(crate) fn definition(object: &DeserializeGuard<NetworkAttachmentDefinition>) -> (DefinitionKey, Definition) {
    let metadata = object.meta();
    let name = metadata.name.clone().unwrap_or_default();
    let config = object.0.as_ref().map(|definition| definition.spec.config.clone()).unwrap_or_default();
    let owner = owner(metadata, &UserspaceNetwork::api_version(&()), &UserspaceNetwork::kind(&()), &name);
    let definition = Definition {
        uid: metadata.uid.clone().unwrap_or_default(),
        label: label(metadata, NETWORK_LABEL),
        resource: annotation(metadata, RESOURCE_ANNOTATION),
        created: metadata.creation_timestamp.clone(),
        form: if owner.is_none() { legacy::form(&config).transpose() } else { None },
        config,
        owner,
    };
    (DefinitionKey { namespace: metadata.namespace.clone().unwrap_or_default(), name }, definition)
}

fn label(metadata: &ObjectMeta, name: &str) -> Option<String> {
    metadata.labels.as_ref()?.get(name).cloned()
}

fn annotation(metadata: &ObjectMeta, name: &str) -> Option<String> {
    metadata.annotations.as_ref()?.get(name).cloned()
}

/// The uid of the owner of this kind and name.
fn owner(metadata: &ObjectMeta, api_version: &str, kind: &str, name: &str) -> Option<String> {
    let is_it = |owner: &&OwnerReference| owner.api_version == api_version && owner.kind == kind && owner.name == name;
    metadata.owner_references.iter().flatten().find(is_it).map(|owner| owner.uid.clone())
}
