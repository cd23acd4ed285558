//! The requests (IO). The client is behind the [`Fence`](crate::leader::Fence): a request that is
//! not sent because another replica may be the leader is left to that one.

use super::{Target, Write, network_from_nad, objects};
use crate::api_error::{message, reason_label};
use crate::controller::watch::objects::{CompiledObject, NadObject, NetworkObject, NodeStateObject};
use crate::controller::watch::{ObjectEvent, WatchUpdate, parse};
use crate::leader::{REQUEST_TIMEOUT, is_closed};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use tokio::time::timeout;
use usnet_crds::conditions::{READY, find as find_condition};
use usnet_crds::node_selection::resource_version;
use usnet_crds::{CompiledNetwork, UserspaceNodeState};

/// The field manager of server-side apply.
pub const FIELD_MANAGER: &str = "usnet-controller";

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or could not be reached.
    #[error("cannot {write}: {}", message(error))]
    Request {
        /// The write.
        write: String,
        /// The error of the client.
        error: Box<kube::Error>,
    },
    /// The API server did not respond in time.
    #[error("cannot {write}: no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout {
        /// The write.
        write: String,
    },
}

impl Error {
    /// The error of the client; none after a timeout.
    pub fn cause(&self) -> Option<&kube::Error> {
        match self {
            Self::Request { error, .. } => Some(error),
            Self::Timeout { .. } => None,
        }
    }

    /// The label of metrics.
    pub fn reason(&self) -> &str {
        self.cause().map_or("Timeout", reason_label)
    }

    /// Whether nothing was sent, because another replica may be the leader.
    pub fn is_fenced(&self) -> bool {
        self.cause().is_some_and(is_closed)
    }

    /// Why the API server rejects the object, if it does. What etcd finds too large is an internal
    /// error.
    pub fn rejection(&self) -> Option<String> {
        let kube::Error::Api(status) = self.cause()? else { return None };
        let is_rejection = matches!(status.code, 400 | 403 | 413 | 422) || status.message.contains("too large");
        is_rejection.then(|| format!("the API server does not accept its CompiledNetwork: {}", status.message))
    }
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The object has this resourceVersion now.
    Written(u64),
    /// The object is deleted, or will be.
    Deleted,
    /// Nothing: the object differs from the cached one.
    NoOp,
}

/// The outcome of one write.
#[derive(Debug)]
pub struct Outcome {
    /// The write.
    pub write: Write,
    /// What it did, or why it failed.
    pub result: Result<Done, Error>,
}

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
    let apply = PatchParams::apply(FIELD_MANAGER).force();
    match write {
        Write::Finalizer { network, uid, present } => {
            let body = objects::finalizer(network, uid, *present);
            written(networks(client).patch_metadata(network, &apply, &Patch::Apply(&body)).await)
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
            let (spec, owners) = (json!(object.spec), json!(object.metadata.owner_references));
            let fields = [("/spec", &spec), ("/metadata/ownerReferences", &owners)];
            create_or_replace(&api, node, &object, uid.as_deref(), &fields).await
        }
        Write::DeleteNodeState { node } => delete(&node_states(client), node, None).await,
        Write::Status { network, uid, status } => {
            let body = objects::status(network, uid, status);
            let answer = networks(client).patch_status(network, &apply, &Patch::Apply(&body)).await;
            ignore_not_found(answer.map(|it| Done::Written(resource_version(it.metadata.resource_version.as_deref()))))
        }
        Write::Nad { key, desired } => {
            let body = objects::nad(key, desired);
            let api = nads(client, &key.namespace);
            written(api.patch_metadata(&key.name, &apply, &Patch::Apply(&body)).await)
        }
        Write::DeleteNad { key } => delete(&nads(client, &key.namespace), &key.name, None).await,
        Write::NetworkFromNad { network, uid, spec } => {
            network_from_nad::write(client, network, uid.as_deref(), spec).await
        }
        Write::DeleteNetwork { network, uid } => delete(&networks(client), network, Some(uid)).await,
    }
}

/// Creates the object, or replaces these fields of the object with this uid.
async fn create_or_replace<K>(
    api: &Api<K>,
    name: &str,
    object: &K,
    uid: Option<&str>,
    fields: &[(&str, &Value)],
) -> Result<Done, kube::Error>
where
    K: Resource + Clone + Serialize + DeserializeOwned + Debug,
{
    let Some(uid) = uid else {
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let created = api.create(&parameters, object).await?;
        return Ok(Done::Written(resource_version(created.meta().resource_version.as_deref())));
    };
    written(api.patch_metadata(name, &patch_parameters(), &replace(uid, fields)?).await)
}

fn patch_parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// A patch that replaces fields, with the uid as precondition. Server-side apply would keep fields
/// that others added.
fn replace(uid: &str, fields: &[(&str, &Value)]) -> Result<Patch<()>, kube::Error> {
    let mut operations = vec![json!({"op": "test", "path": "/metadata/uid", "value": uid})];
    operations.extend(fields.iter().map(|(path, value)| json!({"op": "add", "path": path, "value": value})));
    serde_json::from_value(operations.into()).map(Patch::Json).map_err(kube::Error::SerdeError)
}

fn written<K>(answer: Result<PartialObjectMeta<K>, kube::Error>) -> Result<Done, kube::Error> {
    answer.map(|answer| Done::Written(resource_version(answer.metadata.resource_version.as_deref())))
}

async fn delete<K>(api: &Api<K>, name: &str, uid: Option<&String>) -> Result<Done, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let preconditions = Preconditions { uid: uid.cloned(), resource_version: None };
    let parameters = DeleteParams { preconditions: uid.map(|_| preconditions), ..DeleteParams::default() };
    ignore_not_found(api.delete(name, &parameters).await.map(|_| Done::Deleted))
}

/// An object that does not exist needs no change.
fn ignore_not_found(result: Result<Done, kube::Error>) -> Result<Done, kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Done::NoOp),
        other => other,
    }
}

/// Reads the current object of a target, after a write with an unknown outcome.
///
/// # Errors
/// When the API server does not respond.
pub(in crate::controller) async fn read(client: Client, target: &Target) -> Result<WatchUpdate, kube::Error> {
    match target {
        Target::Finalizer(name) | Target::Status(name) | Target::NetworkFromNad(name) => {
            find(networks(client), name, |object| ObjectEvent::Network(Box::new(Event::Apply(parse::network(object)))))
                .await
        }
        Target::Compiled(name) => {
            find(compiled(client), name, |object| ObjectEvent::Compiled(Event::Apply(parse::compiled(object)))).await
        }
        Target::NodeState(name) => {
            find(node_states(client), name, |object| ObjectEvent::NodeState(Event::Apply(parse::node_state(object))))
                .await
        }
        Target::Nad(key) => {
            let api = nads(client, &key.namespace);
            find(api, &key.name, |object| ObjectEvent::Nad(Event::Apply(parse::nad(object)))).await
        }
    }
    .map(|found| found.unwrap_or_else(|| WatchUpdate::absent(target)))
}

/// Lists a single object, so that the verb `list` suffices.
async fn find<K>(api: Api<K>, name: &str, seen: fn(&K) -> ObjectEvent) -> Result<Option<WatchUpdate>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let list = api.list(&ListParams::default().fields(&format!("metadata.name={name}"))).await?;
    let change =
        |object: &K| WatchUpdate::found(resource_version(object.meta().resource_version.as_deref()), seen(object));
    Ok(list.items.first().map(change))
}

// Responses are deserialized as in watches, so that unreadable fields do not fail a write.

fn networks(client: Client) -> Api<NetworkObject> {
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

/// Logs each successful write once.
fn log(write: &Write) {
    match write {
        Write::Finalizer { network, present: true, .. } => tracing::info!(network, "added the finalizer"),
        Write::Finalizer { network, .. } => tracing::info!(network, "removed the finalizer: the network is deleted"),
        Write::Compiled { network, spec, .. } => {
            tracing::info!(network, generation = spec.generation, "compiled the network for all nodes");
        }
        Write::DrainCompiled { network, .. } => tracing::info!(network, "nodes drain the network"),
        Write::DeleteCompiled { network, .. } => tracing::info!(network, "deleted the compiled network"),
        Write::NodeState { node, number, .. } => tracing::info!(node, number, "wrote the node state"),
        Write::DeleteNodeState { node } => {
            tracing::info!(node, "deleted the state of a node that left or was recreated");
        }
        Write::Nad { key, .. } => {
            tracing::debug!(network = key.name, namespace = key.namespace, "wrote the definition");
        }
        Write::DeleteNad { key } => {
            tracing::debug!(network = key.name, namespace = key.namespace, "deleted the definition");
        }
        Write::NetworkFromNad { network, uid: None, .. } => {
            tracing::info!(network, "created the network of definitions");
        }
        Write::NetworkFromNad { network, .. } => tracing::info!(network, "restored the network of definitions"),
        Write::DeleteNetwork { network, .. } => tracing::info!(network, "deleted the network of definitions"),
        Write::Status { network, status, .. } => {
            let Some(condition) = find_condition(&status.conditions, READY) else { return };
            let (ready, reason) = (&condition.status, &condition.reason);
            tracing::debug!(network, ready, reason, "{}", condition.message);
        }
    }
}
