//! Sends a write (IO).

use super::log::log;
use super::outcome::{Done, Error, Outcome};
use super::verbs::{apply_metadata, apply_status, create_or_replace, delete, patch_parameters, replace, written};
use super::{network_from_nad, objects};
use crate::controller::cache::partial_objects::{
    AttachmentObject, CompiledObject, NadObject, NetworkObject, NodeSliceObject, NodeStateObject, UplinkObject,
};
use crate::controller::write::operation::Write;
use crate::leader::REQUEST_TIMEOUT;
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use tokio::time::timeout;
use usnet_crds::{UserspaceNodeSlice, UserspaceNodeSliceSpec, UserspaceNodeState};

/// Sends one write.
pub async fn send(client: Client, write: Write) -> Outcome {
    let result = match timeout(REQUEST_TIMEOUT, request(client, &write)).await {
        Ok(Ok(done)) => {
            if done != Done::NoOp {
                log(&write);
            }
            Ok(done)
        }
        Ok(Err(error)) => Err(Error::Request { write: write.to_string(), error: Box::new(error) }),
        Err(_) => Err(Error::Timeout { write: write.to_string() }),
    };
    Outcome { write, result }
}

async fn request(client: Client, write: &Write) -> Result<Done, kube::Error> {
    match write {
        Write::Finalizer { network, uid, present } => {
            apply_metadata(&networks(client), network, &objects::finalizer(network, uid, *present)).await
        }
        Write::Compiled { network, owner, uid, spec } => {
            let object = objects::compiled(network, owner, spec);
            with_spec(client, &object, uid.as_deref(), &json!(object.spec)).await
        }
        Write::DrainCompiled { network, uid } => drain(client, network, uid).await,
        Write::DeleteCompiled { network, uid } => delete(&compiled(client), network, Some(uid)).await,
        Write::NodeState { node, owner, uid, number, labels } => {
            node_state(client, &objects::node_state(node, owner, *number, labels), uid.as_deref()).await
        }
        Write::NodeAttachments { node, uid, attachments } => {
            replace_attachments(client, node, uid, &json!(attachments)).await
        }
        Write::AttachmentMetadata { name, uid, pod } => {
            let body = objects::attachment(name, uid, pod.as_ref());
            apply_metadata(&attachments(client, &name.namespace), &name.name, &body).await
        }
        Write::AttachmentStatus { name, uid, status } => {
            let body = objects::attachment_status(name, uid, status);
            apply_status(&attachments(client, &name.namespace), &name.name, &body).await
        }
        Write::NodeSlice { slice, uid, spec } => {
            let object = UserspaceNodeSlice::new(slice, UserspaceNodeSliceSpec::clone(spec));
            with_spec(client, &object, uid.as_deref(), &json!(object.spec)).await
        }
        Write::DeleteNodeSlice { slice, uid } => delete(&Api::<NodeSliceObject>::all(client), slice, Some(uid)).await,
        Write::DeleteNodeState { node } => delete(&node_states(client), node, None).await,
        Write::Status { network, uid, status } => {
            apply_status(&networks(client), network, &objects::status(network, uid, status)).await
        }
        Write::UplinkFinalizer { uplink, uid, present } => {
            apply_metadata(&uplinks(client), uplink, &objects::uplink_finalizer(uplink, uid, *present)).await
        }
        Write::UplinkStatus { uplink, uid, status } => {
            apply_status(&uplinks(client), uplink, &objects::uplink_status(uplink, uid, status)).await
        }
        Write::Nad { key, desired } => {
            apply_metadata(&nads(client, &key.namespace), &key.name, &objects::nad(key, desired)).await
        }
        Write::DeleteNad { key } => delete(&nads(client, &key.namespace), &key.name, None).await,
        Write::NetworkFromNad { network, uid, spec } => {
            network_from_nad::write(client, network, uid.as_deref(), spec).await
        }
        Write::DeleteNetwork { network, uid } => delete(&networks(client), network, Some(uid)).await,
    }
}

/// Creates an object, or replaces its spec.
async fn with_spec<K>(client: Client, object: &K, uid: Option<&str>, spec: &Value) -> Result<Done, kube::Error>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + Serialize + DeserializeOwned,
{
    create_or_replace(&Api::<K>::all(client), &object.name_any(), object, uid, &[("/spec", spec)]).await
}

async fn drain(client: Client, network: &str, uid: &str) -> Result<Done, kube::Error> {
    let body = replace(uid, &[("/spec/phase", &json!("Draining"))])?;
    written(compiled(client).patch_metadata(network, &patch_parameters(), &body).await)
}

async fn replace_attachments(client: Client, node: &str, uid: &str, all: &Value) -> Result<Done, kube::Error> {
    let body = replace(uid, &[("/spec/attachments", all)])?;
    written(node_states(client).patch_metadata(node, &patch_parameters(), &body).await)
}

/// Not the whole spec: its attachments are written by themselves.
async fn node_state(client: Client, state: &UserspaceNodeState, uid: Option<&str>) -> Result<Done, kube::Error> {
    let (number, labels) = (json!(state.spec.number), json!(state.spec.labels));
    let owners = json!(state.metadata.owner_references);
    let fields = [("/spec/number", &number), ("/spec/labels", &labels), ("/metadata/ownerReferences", &owners)];
    create_or_replace(&Api::all(client), &state.name_any(), state, uid, &fields).await
}

// Responses are deserialized as in watches, so that unreadable fields do not fail a write.

fn networks(client: Client) -> Api<NetworkObject> {
    Api::all(client)
}

fn uplinks(client: Client) -> Api<UplinkObject> {
    Api::all(client)
}

fn compiled(client: Client) -> Api<CompiledObject> {
    Api::all(client)
}

fn node_states(client: Client) -> Api<NodeStateObject> {
    Api::all(client)
}

fn attachments(client: Client, namespace: &str) -> Api<AttachmentObject> {
    Api::namespaced(client, namespace)
}

fn nads(client: Client, namespace: &str) -> Api<NadObject> {
    Api::namespaced(client, namespace)
}
