//! Step five of a pass: the writes. One that fails does not keep the others from being tried. The client is behind the [`Fence`](crate::leader::Fence):
//! what is not sent because another controller may lead is left to that one.

mod objects;

use super::diff::Write;
use super::refusal::{reason, word};
use crate::leader::{REQUEST_TIMEOUT, is_closed};
use futures::{StreamExt, stream};
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
    /// Why it was not.
    pub result: Result<(), Error>,
}

impl Error {
    /// Why, in one word for metrics.
    pub fn reason(&self) -> &str {
        match self {
            Self::Request { error, .. } => word(error),
            Self::Timeout { .. } => "Timeout",
        }
    }

    /// Whether nothing was sent, because another controller may lead.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Request { error, .. } if is_closed(error))
    }
}

/// Tries all writes.
pub async fn apply(client: &Client, writes: Vec<Write>) -> Vec<Outcome> {
    stream::iter(writes).map(|write| send(client, write)).buffer_unordered(CONCURRENT).collect().await
}

async fn send(client: &Client, write: Write) -> Outcome {
    let result = match timeout(REQUEST_TIMEOUT, request(client.clone(), &write)).await {
        Ok(Ok(())) => {
            log(&write);
            Ok(())
        }
        Ok(Err(error)) => Err(Error::Request { write: write.to_string(), error: Box::new(error) }),
        Err(_) => Err(Error::Timeout { write: write.to_string() }),
    };
    Outcome { write, result }
}

async fn request(client: Client, write: &Write) -> Result<(), kube::Error> {
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match write {
        Write::NodeState { node, owner, networks } => {
            let object = objects::node_state(node, owner, networks);
            node_states(client).patch(node, &parameters, &Patch::Apply(&object)).await.map(drop)
        }
        Write::DeleteNodeState { node } => {
            unless_gone(node_states(client).delete(node, &DeleteParams::default()).await.map(drop))
        }
        Write::Definition { key, wanted } => {
            let object = objects::definition(key, &wanted.config, &wanted.owner);
            definitions(client, &key.namespace).patch(&key.name, &parameters, &Patch::Apply(&object)).await.map(drop)
        }
        Write::DeleteDefinition { key, uid } => {
            let this_one = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let parameters = DeleteParams::default().preconditions(this_one);
            unless_gone(definitions(client, &key.namespace).delete(&key.name, &parameters).await.map(drop))
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
        Write::DeleteNodeState { node } => {
            tracing::info!(node, "deleted the state of a node that left or was made anew");
        }
        Write::Definition { key, .. } => {
            tracing::info!(network = key.name, namespace = key.namespace, "wrote the definition");
        }
        Write::DeleteDefinition { key, .. } => {
            tracing::info!(network = key.name, namespace = key.namespace, "deleted the definition");
        }
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
