//! The objects as server-side apply sends them: only the fields that the controller owns.

use super::super::compile::WantedDefinition;
use super::super::diff::Edit;
use super::super::inputs::DefinitionKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde_json::{Value, json};
use std::sync::Arc;
use usnet_crds::definition::{NETWORK_LABEL, NetworkAttachmentDefinitionSpec, RESOURCE_ANNOTATION};
use usnet_crds::network::FINALIZER;
use usnet_crds::{
    NetworkAttachmentDefinition, NodeNetwork, UserspaceNetwork, UserspaceNetworkStatus, UserspaceNodeState,
    UserspaceNodeStateSpec,
};

/// The state of a node, which goes when the node goes.
pub(super) fn node_state(node: &str, owner: &str, networks: &[Arc<NodeNetwork>]) -> UserspaceNodeState {
    let networks = networks.iter().map(|network| NodeNetwork::clone(network)).collect();
    let mut state = UserspaceNodeState::new(node, UserspaceNodeStateSpec { networks });
    state.metadata.owner_references = Some(vec![owned_by("v1", "Node", node, owner)]);
    state
}

/// Edits of a node's list of networks. The indexes are right only in the list that was seen, so that the patch begins with a test for its object and
/// generation.
pub(super) fn edits(uid: &str, generation: i64, edits: &[Edit]) -> Result<json_patch::Patch, kube::Error> {
    let network = |network: &Arc<NodeNetwork>| serde_json::to_value(&**network).map_err(kube::Error::SerdeError);
    let path = |index: &usize| format!("/spec/networks/{index}");
    let mut operations = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid}),
        json!({"op": "test", "path": "/metadata/generation", "value": generation}),
    ];
    for edit in edits {
        operations.push(match edit {
            Edit::Replace(index, new) => json!({"op": "replace", "path": path(index), "value": network(new)?}),
            Edit::Insert(index, new) => json!({"op": "add", "path": path(index), "value": network(new)?}),
            Edit::Remove(index) => json!({"op": "remove", "path": path(index)}),
        });
    }
    serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)
}

/// A definition, which goes when its network goes.
pub(super) fn definition(key: &DefinitionKey, wanted: &WantedDefinition) -> NetworkAttachmentDefinition {
    let (version, kind) = (UserspaceNetwork::api_version(&()), UserspaceNetwork::kind(&()));
    let spec = NetworkAttachmentDefinitionSpec { config: wanted.config.clone() };
    let mut definition = NetworkAttachmentDefinition::new(&key.name, spec);
    definition.metadata = ObjectMeta {
        name: Some(key.name.clone()),
        namespace: Some(key.namespace.clone()),
        labels: Some([(NETWORK_LABEL.to_owned(), key.name.clone())].into()),
        annotations: wanted.resource.clone().map(|resource| [(RESOURCE_ANNOTATION.to_owned(), resource)].into()),
        owner_references: Some(vec![OwnerReference {
            controller: Some(true),
            ..owned_by(&version, &kind, &key.name, &wanted.owner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::{Bridge, Engine, NetworkName, Phase, Port};

    fn network(name: &str) -> Arc<NodeNetwork> {
        let name: NetworkName = name.parse().unwrap();
        let network = json!({"name": name, "generation": 1, "phase": Phase::Active, "engine": Engine::OpenVswitch,
            "bridge": Bridge::named(Engine::OpenVswitch.default_bridge(&name)), "port": Port::default(), "allowedNamespaces": []});
        Arc::new(serde_json::from_value(network).unwrap())
    }

    #[test]
    fn edits_change_the_list_that_was_seen_and_no_other() {
        let list = |names: &[&str]| names.iter().map(|name| json!(*network(name))).collect::<Vec<_>>();
        let seen = json!({"metadata": {"uid": "u", "generation": 7}, "spec": {"networks": list(&["a", "b", "d"])}});
        let edits = [Edit::Insert(3, network("e")), Edit::Replace(1, network("c")), Edit::Remove(0)];
        let patch = super::edits("u", 7, &edits).unwrap();
        let mut object = seen.clone();
        json_patch::patch(&mut object, &patch).unwrap();
        assert_eq!(object["spec"]["networks"], json!(list(&["c", "d", "e"])));

        for (field, value) in [("uid", json!("v")), ("generation", json!(8))] {
            let mut other = seen.clone();
            other["metadata"][field] = value;
            assert!(json_patch::patch(&mut other, &patch).is_err(), "{field} is not tested");
        }
    }
}
