//! Step five of a pass: the writes. One that fails does not keep the others from being tried. The client is behind the [`Fence`](crate::leader::Fence):
//! what is not sent because another controller may lead is left to that one.

mod from_nad;
mod objects;

use super::diff::Write;
use super::refusal::{reason, word};
use crate::leader::{REQUEST_TIMEOUT, is_closed};
use futures::{StreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::DeserializeGuard;
use kube::{Api, Client};
use tokio::time::timeout;
use usnet_crds::conditions::{READY, find};
use usnet_crds::{NetworkAttachmentDefinition, UserspaceNetwork, UserspaceNetworkStatus, UserspaceNodeState};

/// Who wrote the fields, for server-side apply.
pub const FIELD_MANAGER: &str = "usnet-controller";
/// Writes that are under way at the same time: enough to be quick on many nodes, few enough to be no burden on the API server.
const CONCURRENT: usize = 16;

/// Why a write failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or could not be reached.
    #[error("cannot {write}: {}", reason(error))]
    Request {
        /// What was to be written.
        write: String,
        /// Why it was not.
        error: Box<kube::Error>,
    },
    /// Somebody else changed a node state, or deleted it, before it could be edited. The next pass writes it whole.
    #[error("cannot {write}, which is not as it was seen: {}", reason(error))]
    Stale {
        /// What was to be written.
        write: String,
        /// What the API server said.
        error: Box<kube::Error>,
    },
    /// The API server did not answer.
    #[error("cannot {write}: no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout {
        /// What was to be written.
        write: String,
    },
}

/// What became of one write.
#[derive(Debug)]
pub struct Outcome {
    /// What was to be written.
    pub write: Write,
    /// The node state as it was written, if it is one; or why it was not.
    pub result: Result<Option<Written>, Error>,
}

/// A node state as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The uid of the object.
    pub uid: String,
    /// The generation since the write.
    pub generation: i64,
}

impl Error {
    /// Why, in one word for metrics.
    pub fn reason(&self) -> &str {
        match self {
            Self::Request { error, .. } => word(error),
            Self::Stale { .. } => "Stale",
            Self::Timeout { .. } => "Timeout",
        }
    }

    /// Whether nothing was sent, because another controller may lead.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Request { error, .. } if is_closed(error))
    }

    /// Whether a node state was no longer as its edits took it to be.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }
}

impl Outcome {
    /// The node whose state the API server does not take as it should be, and what it says.
    pub fn refusal(&self) -> Option<(&str, String)> {
        match (&self.write, &self.result) {
            (Write::NodeState { node, .. } | Write::EditNodeState { node, .. }, Err(Error::Request { error, .. }))
                if is_refusal(error) =>
            {
                let message = format!("the API server does not take its UserspaceNodeState: {}", reason(error));
                Some((node, message))
            }
            _ => None,
        }
    }
}

/// Tries all writes.
pub async fn apply(client: &Client, writes: Vec<Write>) -> Vec<Outcome> {
    stream::iter(writes).map(|write| send(client, write)).buffer_unordered(CONCURRENT).collect().await
}

async fn send(client: &Client, write: Write) -> Outcome {
    let result = match timeout(REQUEST_TIMEOUT, request(client.clone(), &write)).await {
        Ok(Ok(written)) => {
            log(&write);
            Ok(written)
        }
        Ok(Err(error)) => Err(failure(&write, error)),
        Err(_) => Err(Error::Timeout { write: write.to_string() }),
    };
    Outcome { write, result }
}

fn failure(write: &Write, error: kube::Error) -> Error {
    let error = Box::new(error);
    match write {
        Write::EditNodeState { node, .. } if is_refused_edit(&error) => {
            tracing::debug!(node, "the node state is not as it was seen: it is written whole");
            Error::Stale { write: write.to_string(), error }
        }
        _ => Error::Request { write: write.to_string(), error },
    }
}

/// The API server understood and does not want it. What etcd finds too large comes back as an internal error.
fn is_refusal(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    matches!(status.code, 400 | 403 | 413 | 422) || status.message.contains("too large")
}

/// A test in the patch failed, or it speaks of something that is not there.
fn is_refused_edit(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409 | 422))
}

async fn request(client: Client, write: &Write) -> Result<Option<Written>, kube::Error> {
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match write {
        // The answers are asked for without the specs, which may be large.
        Write::NodeState { node, owner, networks } => {
            let object = objects::node_state(node, owner, networks);
            let answer = node_states(client).patch_metadata(node, &parameters, &Patch::Apply(&object)).await?;
            return Ok(Some(written(&answer.metadata)));
        }
        Write::EditNodeState { node, uid, generation, edits } => {
            let patch = Patch::<()>::Json(objects::edits(uid, *generation, edits)?);
            let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            let answer = node_states(client).patch_metadata(node, &parameters, &patch).await?;
            return Ok(Some(written(&answer.metadata)));
        }
        Write::DeleteNodeState { node } => {
            unless_gone(node_states(client).delete(node, &DeleteParams::default()).await.map(drop))
        }
        Write::Definition { key, wanted } => {
            let object = objects::definition(key, wanted);
            definitions(client, &key.namespace).patch(&key.name, &parameters, &Patch::Apply(&object)).await.map(drop)
        }
        Write::DeleteDefinition { key, uid } => {
            let this_one = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let parameters = DeleteParams::default().preconditions(this_one);
            unless_gone(definitions(client, &key.namespace).delete(&key.name, &parameters).await.map(drop))
        }
        Write::NetworkFromNad { network, uid, spec } => from_nad::write(client, network, uid.as_deref(), spec).await,
        Write::DeleteNetwork { network, uid } => {
            let this_one = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let parameters = DeleteParams::default().preconditions(this_one);
            unless_gone(networks(client).delete(network, &parameters).await.map(drop))
        }
        Write::Finalizer { network, uid, present } => {
            let object = objects::finalizer(network, uid, *present);
            networks(client).patch(network, &parameters, &Patch::Apply(&object)).await.map(drop)
        }
        Write::Status { network, uid, status, .. } => {
            let object = objects::status(network, uid, status);
            unless_gone(networks(client).patch_status(network, &parameters, &Patch::Apply(&object)).await.map(drop))
        }
    }
    .map(|()| None)
}

fn written(metadata: &ObjectMeta) -> Written {
    Written { uid: metadata.uid.clone().unwrap_or_default(), generation: metadata.generation.unwrap_or_default() }
}

// The answers are read through guards: an object whose other fields cannot be read is still written.

fn node_states(client: Client) -> Api<DeserializeGuard<UserspaceNodeState>> {
    Api::all(client)
}

fn networks(client: Client) -> Api<DeserializeGuard<UserspaceNetwork>> {
    Api::all(client)
}

fn definitions(client: Client, namespace: &str) -> Api<DeserializeGuard<NetworkAttachmentDefinition>> {
    Api::namespaced(client, namespace)
}

/// What is gone already need not be changed.
fn unless_gone(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => other,
    }
}

/// Each change is told once, where it is made.
fn log(write: &Write) {
    match write {
        Write::NodeState { node, networks, .. } => {
            tracing::info!(node, networks = networks.len(), "wrote what the node should have");
        }
        Write::EditNodeState { node, edits, .. } => {
            tracing::info!(node, networks = edits.len(), "changed what the node should have");
        }
        Write::DeleteNodeState { node } => {
            tracing::info!(node, "deleted the state of a node that left or was made anew");
        }
        Write::Definition { key, .. } => {
            tracing::info!(network = key.name, namespace = key.namespace, "wrote the definition");
        }
        Write::DeleteDefinition { key, .. } => {
            tracing::info!(network = key.name, namespace = key.namespace, "deleted the definition");
        }
        Write::NetworkFromNad { network, uid: None, .. } => tracing::info!(network, "made the network of definitions"),
        Write::NetworkFromNad { network, .. } => {
            tracing::info!(network, "put back what definitions say of the network");
        }
        Write::DeleteNetwork { network, .. } => tracing::info!(network, "deleted the network of definitions"),
        Write::Finalizer { network, present: true, .. } => tracing::info!(network, "added the finalizer"),
        Write::Finalizer { network, .. } => tracing::info!(network, "removed the finalizer: the network is gone"),
        Write::Status { network, status, is_news, .. } => log_status(network, status, *is_news),
    }
}

fn log_status(network: &str, status: &UserspaceNetworkStatus, is_news: bool) {
    let Some(condition) = find(&status.conditions, READY) else { return };
    let (ready, reason) = (&condition.status, &condition.reason);
    if is_news {
        tracing::info!(network, ready, reason, "{}", condition.message);
    } else {
        tracing::debug!(network, ready, reason, "{}", condition.message);
    }
}

#[cfg(test)]
mod tests;
