//! The bodies of requests: only the fields that the controller owns.

use crate::cache::attachments::ObjectName;
use crate::cache::{Labels, NadKey};
use crate::write::operation::DesiredNad;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde_json::{Value, json};
use usnet_crds::nad::{NETWORK_LABEL, NetworkAttachmentDefinitionSpec, RESOURCE_ANNOTATION};
use usnet_crds::network::FINALIZER;
use usnet_crds::{
    CompiledNetwork, CompiledNetworkSpec, NetworkAttachmentDefinition, UserspaceNetwork, UserspaceNetworkStatus,
    UserspaceNodeState, UserspaceNodeStateSpec, UserspaceReservation, UserspaceReservationStatus, UserspaceUplink,
    UserspaceUplinkStatus,
};

/// A compiled network, which is deleted with its UserspaceNetwork.
pub(super) fn compiled(network: &str, owner: &str, spec: &CompiledNetworkSpec) -> CompiledNetwork {
    let mut compiled = CompiledNetwork::new(network, spec.clone());
    compiled.metadata.owner_references = Some(vec![owned_by_network(network, owner)]);
    compiled
}

/// The state of a node, which is deleted with the node.
pub(super) fn node_state(node: &str, owner: &str, number: u32, labels: &Labels) -> UserspaceNodeState {
    let mut state =
        UserspaceNodeState::new(node, UserspaceNodeStateSpec { number, labels: labels.clone(), ..Default::default() });
    state.metadata.owner_references = Some(vec![owned_by("v1", "Node", node, owner)]);
    state
}

/// A NAD, which is deleted with its network.
pub(super) fn nad(key: &NadKey, desired: &DesiredNad) -> NetworkAttachmentDefinition {
    let spec = NetworkAttachmentDefinitionSpec { config: desired.config.clone() };
    let mut nad = NetworkAttachmentDefinition::new(&key.name, spec);
    nad.metadata = ObjectMeta {
        name: Some(key.name.clone()),
        namespace: Some(key.namespace.clone()),
        labels: Some([(NETWORK_LABEL.to_owned(), key.name.clone())].into()),
        annotations: desired.resource.clone().map(|resource| [(RESOURCE_ANNOTATION.to_owned(), resource)].into()),
        owner_references: Some(vec![owned_by_network(&key.name, &desired.owner)]),
        ..ObjectMeta::default()
    };
    nad
}

/// A network with its finalizer. The uid is a precondition: the API server neither changes a later
/// network of the same name, nor creates a new one.
pub(super) fn finalizer(network: &str, uid: &str) -> Value {
    json!({
        "apiVersion": UserspaceNetwork::api_version(&()),
        "kind": UserspaceNetwork::kind(&()),
        "metadata": {"name": network, "uid": uid, "finalizers": [FINALIZER]},
    })
}

/// An uplink with its finalizer, as a network.
pub(super) fn uplink_finalizer(uplink: &str, uid: &str) -> Value {
    json!({
        "apiVersion": UserspaceUplink::api_version(&()),
        "kind": UserspaceUplink::kind(&()),
        "metadata": {"name": uplink, "uid": uid, "finalizers": [FINALIZER]},
    })
}

/// The status of an uplink.
pub(super) fn uplink_status(uplink: &str, uid: &str, status: &UserspaceUplinkStatus) -> Value {
    json!({
        "apiVersion": UserspaceUplink::api_version(&()),
        "kind": UserspaceUplink::kind(&()),
        "metadata": {"name": uplink, "uid": uid},
        "status": status,
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

/// The status of a reservation.
pub(super) fn reservation_status(name: &ObjectName, uid: &str, status: &UserspaceReservationStatus) -> Value {
    json!({
        "apiVersion": UserspaceReservation::api_version(&()),
        "kind": UserspaceReservation::kind(&()),
        "metadata": {"name": name.name, "namespace": name.namespace, "uid": uid},
        "status": status,
    })
}

fn owned_by_network(network: &str, uid: &str) -> OwnerReference {
    let (version, kind) = (UserspaceNetwork::api_version(&()), UserspaceNetwork::kind(&()));
    OwnerReference { controller: Some(true), ..owned_by(&version, &kind, network, uid) }
}

pub(super) fn owned_by(api_version: &str, kind: &str, name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}
