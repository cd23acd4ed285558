//! The objects as server-side apply sends them: only the fields that the controller owns.

use super::super::inputs::DefinitionKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde_json::{Value, json};
use usnet_crds::definition::{NETWORK_LABEL, NetworkAttachmentDefinitionSpec};
use usnet_crds::network::FINALIZER;
use usnet_crds::{
    NetworkAttachmentDefinition, NodeNetwork, UserspaceNetwork, UserspaceNetworkStatus, UserspaceNodeState,
    UserspaceNodeStateSpec,
};

/// The state of a node, which goes when the node goes.
pub(super) fn node_state(node: &str, owner: &str, networks: &[NodeNetwork]) -> UserspaceNodeState {
    let mut state = UserspaceNodeState::new(node, UserspaceNodeStateSpec { networks: networks.to_vec() });
    state.metadata.owner_references = Some(vec![owned_by("v1", "Node", node, owner)]);
    state
}

/// A definition, which goes when its network goes.
pub(super) fn definition(key: &DefinitionKey, config: &str, owner: &str) -> NetworkAttachmentDefinition {
    let (version, kind) = (UserspaceNetwork::api_version(&()), UserspaceNetwork::kind(&()));
    let spec = NetworkAttachmentDefinitionSpec { config: config.to_owned() };
    let mut definition = NetworkAttachmentDefinition::new(&key.name, spec);
    definition.metadata = ObjectMeta {
        name: Some(key.name.clone()),
        namespace: Some(key.namespace.clone()),
        labels: Some([(NETWORK_LABEL.to_owned(), key.name.clone())].into()),
        owner_references: Some(vec![OwnerReference {
            controller: Some(true),
            ..owned_by(&version, &kind, &key.name, owner)
        }]),
        ..ObjectMeta::default()
    };
    definition
}

/// The finalizer of a network. With the uid in it, the API server refuses to touch a later network of the same name, or to make a new one.
pub(super) fn finalizer(network: &str, uid: &str, present: bool) -> Value {
    let finalizers: &[&str] = if present { &[FINALIZER] } else { &[] };
    json!({
        "apiVersion": UserspaceNetwork::api_version(&()),
        "kind": UserspaceNetwork::kind(&()),
        "metadata": {"name": network, "uid": uid, "finalizers": finalizers},
    })
}

/// The status of a network.
pub(super) fn status(network: &str, uid: &str, status: &UserspaceNetworkStatus) -> Value {
    json!({
        "apiVersion": UserspaceNetwork::api_version(&()),
        "kind": UserspaceNetwork::kind(&()),
        "metadata": {"name": network, "uid": uid},
        "status": status,
    })
}

fn owned_by(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}
