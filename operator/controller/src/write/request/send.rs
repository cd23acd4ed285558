//! Sends a write (IO).

use super::log::log;
use super::outcome::{Done, Error, Outcome};
use super::verbs::{
    apply_metadata, apply_status, create_or_replace, delete, patch_parameters, remove_finalizer, replace, written,
};
use super::{attachment, network_from_nad, objects};
use crate::cache::attachments::ObjectName;
use crate::cache::partial_objects::{
    CompiledObject, NadObject, NetworkObject, NodeSliceObject, NodeStateObject, ReservationObject, UplinkObject,
};
use crate::leader::REQUEST_TIMEOUT;
use crate::write::operation::{FinalizerChange, Write};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use tokio::time::timeout;
use usnet_crds::network::FINALIZER;
use usnet_crds::{
    CompiledNetwork, UserspaceNodeSlice, UserspaceNodeSliceSpec, UserspaceNodeState, UserspaceReservationStatus,
};

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
        Write::Finalizer { network, uid, change } => {
            change_finalizer(&networks(client), network, uid, *change, &objects::finalizer(network, uid)).await
        }
        Write::Compiled { network, owner, uid, spec } => {
            let api: Api<CompiledNetwork> = Api::all(client);
            let object = objects::compiled(network, owner, spec);
            create_or_replace(&api, network, &object, uid.as_deref(), &[("/spec", &json!(object.spec))]).await
        }
        Write::DrainCompiled { network, uid } => {
            let body = replace(uid, &[("/spec/phase", &json!("Draining"))])?;
            written(compiled(client).patch_metadata(network, &patch_parameters(), &body).await)
        }
        Write::DeleteCompiled { network, uid } => delete(&compiled(client), network, Some(uid)).await,
        Write::NodeState { node, owner, uid, number, labels } => {
            let api: Api<UserspaceNodeState> = Api::all(client);
            let object = objects::node_state(node, owner, *number, labels);
            // Not the whole spec: its attachments are written by themselves.
            let (number, labels) = (json!(number), json!(labels));
            let owners = json!(object.metadata.owner_references);
            let fields = [("/spec/number", &number), ("/spec/labels", &labels), ("/metadata/ownerReferences", &owners)];
            create_or_replace(&api, node, &object, uid.as_deref(), &fields).await
        }
        Write::Attachment(write) => attachment::request(client, write).await,
        Write::NodeSlice { slice, uid, spec } => node_slice(client, slice, uid.as_deref(), spec).await,
        Write::DeleteNodeSlice { slice, uid } => delete(&Api::<NodeSliceObject>::all(client), slice, Some(uid)).await,
        Write::DeleteNodeState { node } => delete(&node_states(client), node, None).await,
        Write::Status { network, uid, status } => {
            apply_status(&networks(client), network, &objects::status(network, uid, status)).await
        }
        Write::UplinkFinalizer { uplink, uid, change } => {
            change_finalizer(&uplinks(client), uplink, uid, *change, &objects::uplink_finalizer(uplink, uid)).await
        }
        Write::UplinkStatus { uplink, uid, status } => {
            apply_status(&uplinks(client), uplink, &objects::uplink_status(uplink, uid, status)).await
        }
        Write::ReservationStatus { name, uid, status } => reservation_status(client, name, uid, status).await,
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

async fn node_slice(
    client: Client,
    slice: &str,
    uid: Option<&str>,
    spec: &UserspaceNodeSliceSpec,
) -> Result<Done, kube::Error> {
    let api: Api<UserspaceNodeSlice> = Api::all(client);
    let object = UserspaceNodeSlice::new(slice, spec.clone());
    create_or_replace(&api, slice, &object, uid, &[("/spec", &json!(object.spec))]).await
}

async fn reservation_status(
    client: Client,
    name: &ObjectName,
    uid: &str,
    status: &UserspaceReservationStatus,
) -> Result<Done, kube::Error> {
    let api: Api<ReservationObject> = Api::namespaced(client, &name.namespace);
    apply_status(&api, &name.name, &objects::reservation_status(name, uid, status)).await
}

/// Adds the finalizer of networks and uplinks, by this body, or removes it.
async fn change_finalizer<K>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    change: FinalizerChange,
    body: &Value,
) -> Result<Done, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    match change {
        FinalizerChange::Add => apply_metadata(api, name, body).await,
        FinalizerChange::Remove { index } => remove_finalizer(api, name, uid, FINALIZER, index).await,
    }
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

fn nads(client: Client, namespace: &str) -> Api<NadObject> {
    Api::namespaced(client, namespace)
}
