//! Publishes the devices of the node as ResourceSlices, and restores them (IO): kubelet deletes all
//! slices of its node when it starts. They are there only while kubelet has registered the driver:
//! a pod that is placed before waits for minutes.

mod build;
mod slice;
mod withdraw;

use super::offered::Offered;
use super::plan::Networks;
use super::registration::{Registration, State};
use crate::report::status_writer::FIELD_MANAGER;
use crate::watch::Owners;
use build::{Support, probe, slices};
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde_json::{Value, json};
use slice::ResourceSlice;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep_until, timeout};
use usnet_common::api::any::is_any;
use usnet_common::api::device_api::DRIVER;
use usnet_common::api::error::is_not_found;
use usnet_common::api::reflector::Objects;
use usnet_common::api::watch::watch;
use usnet_common::display::FirstFailure;

pub(super) use withdraw::withdraw;

/// Delay between two attempts to write.
const RETRY: Duration = Duration::from_secs(3);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why slices were not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server refused a slice, or could not be reached")]
    Request(#[from] Box<kube::Error>),
    #[error("the API server does not answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
    #[error("the API server stores the ResourceSlices otherwise than they were written")]
    NotKept,
}

/// What the slices are computed from.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The networks of the node; none before its first spec. Until then `offered` is not known
    /// either.
    pub(super) networks: Receiver<Option<Arc<Networks>>>,
    pub(super) offered: Receiver<Vec<Offered>>,
    /// The owners of the node state.
    pub(super) owners: Receiver<Owners>,
    pub(super) registration: Receiver<Registration>,
}

/// The slices of one node.
struct Slices {
    api: Api<ResourceSlice>,
    node: String,
    present: Objects<ResourceSlice>,
    support: Support,
    /// The Node object: Kubernetes deletes the slices together with it.
    owner: Option<OwnerReference>,
}

/// Publishes what is offered, indefinitely. Nothing is watched before there is a network with
/// resource claims, or a slice of an earlier one. Without a node state nothing is written: a
/// removed node loses its node state first, and slices that its agent wrote afterwards would stay
/// indefinitely.
pub(super) async fn publish(client: Client, node: String, inputs: Inputs) -> Infallible {
    let Inputs { networks, mut offered, mut owners, mut registration } = inputs;
    let (api, own) = (Api::all(client), format!("spec.driver={DRIVER},spec.nodeName={node}"));
    wait_until_needed(&api, &own, networks, &mut offered).await;
    let events = watch(api.clone(), watcher::Config::default().fields(&own));
    tokio::pin!(events);
    let mut slices = Slices { api, node, present: Objects::default(), support: Support::ALL, owner: None };
    let (mut failure, mut watch_failure) = (FirstFailure::default(), FirstFailure::default());
    // Events do not end the pause after a failure: some of them are caused by the last write.
    let mut paused_until: Option<Instant> = None;
    loop {
        let wanted = wanted(&offered.borrow_and_update(), registration.borrow_and_update().state());
        let known = owners.borrow_and_update().clone();
        let is_paused = paused_until.is_some_and(|end| end > Instant::now());
        if let (Some(wanted), Some(known), false) = (wanted, known, is_paused) {
            slices.owner = node_among(&known);
            let result = slices.reconcile(&wanted).await;
            let failed = failure.log(&result, "cannot publish the node's devices for resource claims; retrying");
            paused_until = failed.then(|| Instant::now() + RETRY);
        }
        tokio::select! {
            event = events.next() => match event {
                Some(event) => {
                    let event = event.map(|event| slices.present.observe(event));
                    watch_failure.log(&event, "cannot watch the node's ResourceSlices; retrying");
                }
                None => pending().await,
            },
            changed = offered.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            changed = owners.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            changed = registration.changed() => if changed.is_err() {
                pending::<()>().await;
            },
            () = sleep_until(paused_until.unwrap_or_else(Instant::now)), if paused_until.is_some() => {}
        }
    }
}

/// What is published; none if the slices stay as they are.
fn wanted(offered: &[Offered], registration: State) -> Option<Vec<Offered>> {
    match registration {
        State::Registered => Some(offered.to_vec()),
        State::Unregistered => Some(Vec::new()),
        // It deletes them at its next start, before which no pod starts on the node.
        State::KubeletGone => offered.is_empty().then(Vec::new),
    }
}

/// Waits until there is something to publish, or a slice to remove: the last network may have lost
/// its resource claims while no agent ran.
async fn wait_until_needed(
    api: &Api<ResourceSlice>,
    own: &str,
    mut networks: Receiver<Option<Arc<Networks>>>,
    offered: &mut Receiver<Vec<Offered>>,
) {
    let is_left = async {
        networks.wait_for(Option::is_some).await.is_ok() && is_any(api, ListParams::default().fields(own)).await
    };
    let is_ended = tokio::select! {
        biased;
        is_offered = offered.wait_for(|networks| !networks.is_empty()) => is_offered.is_err(),
        true = is_left => false,
    };
    if is_ended {
        pending::<()>().await;
    }
}

impl Slices {
    async fn reconcile(&mut self, offered: &[Offered]) -> Result<(), Error> {
        if !self.present.is_complete() || self.is_current(offered) {
            return Ok(());
        }
        if let Some(network) = offered.first() {
            // A dry run: a slice whose fields were dropped must not be seen by the scheduler.
            let kept = self.apply(&probe(network, &self.node), true).await?;
            self.support = Support::of(&kept);
            if self.is_current(offered) {
                return Ok(());
            }
        }
        let generation = self.generation() + 1;
        let wanted = self.wanted(offered, generation);
        tracing::info!(
            slices = wanted.len(),
            devices = wanted.iter().map(|slice| slice.spec.devices.len()).sum::<usize>(),
            shares = self.support.shares,
            "publishing the node's devices for resource claims"
        );
        let mut present = BTreeMap::new();
        for slice in &wanted {
            let written = self.apply(slice, false).await?;
            present.insert(slice.metadata.name.clone().unwrap_or_default(), written);
        }
        for name in self.present.by_name.keys().filter(|name| !present.contains_key(*name)) {
            match request(self.api.delete(name, &DeleteParams::default())).await {
                Err(Error::Request(error)) if is_not_found(&error) => {}
                other => drop(other?),
            }
        }
        self.present.by_name = present;
        if self.is_current(offered) { Ok(()) } else { Err(Error::NotKept) }
    }

    fn wanted(&self, offered: &[Offered], generation: i64) -> Vec<ResourceSlice> {
        let mut wanted = slices(offered, &self.node, self.support, generation);
        for slice in &mut wanted {
            slice.metadata.owner_references = self.owner.clone().map(|owner| vec![owner]);
        }
        wanted
    }

    fn generation(&self) -> i64 {
        self.present.by_name.values().map(|slice| slice.spec.pool.generation).max().unwrap_or_default()
    }

    fn is_current(&self, offered: &[Offered]) -> bool {
        let wanted = self.wanted(offered, self.generation());
        let is_present = |slice: &ResourceSlice| {
            let present = slice.metadata.name.as_ref().and_then(|name| self.present.by_name.get(name));
            present.is_some_and(|present| present.spec == slice.spec && has_owners(present, slice))
        };
        // They are compared by name: from 100 slices on, names sort otherwise than their numbers.
        wanted.len() == self.present.by_name.len() && wanted.iter().all(is_present)
    }

    async fn apply(&self, slice: &ResourceSlice, is_dry_run: bool) -> Result<ResourceSlice, Error> {
        let parameters = PatchParams { dry_run: is_dry_run, ..PatchParams::apply(FIELD_MANAGER).force() };
        let name = slice.metadata.name.clone().unwrap_or_default();
        request(self.api.patch(&name, &parameters, &Patch::Apply(body(slice)))).await
    }
}

fn body(slice: &ResourceSlice) -> Value {
    json!({
        "apiVersion": ResourceSlice::api_version(&()), "kind": ResourceSlice::kind(&()),
        "metadata": slice.metadata, "spec": slice.spec,
    })
}

/// Returns the Node as owner, in the form of Kubernetes' own drivers. `blockOwnerDeletion` would
/// need more rights.
fn node_among(owners: &[OwnerReference]) -> Option<OwnerReference> {
    let node = owners.iter().find(|owner| (owner.api_version.as_str(), owner.kind.as_str()) == ("v1", "Node"))?;
    Some(OwnerReference { controller: Some(true), block_owner_deletion: None, ..node.clone() })
}

/// Whether a slice has the wanted owners, among others.
fn has_owners(present: &ResourceSlice, wanted: &ResourceSlice) -> bool {
    let present = present.metadata.owner_references.as_deref().unwrap_or_default();
    wanted.metadata.owner_references.iter().flatten().all(|owner| present.contains(owner))
}

async fn request<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    let answer = timeout(REQUEST_TIMEOUT, request).await.map_err(|_| Error::Timeout)?;
    answer.map_err(|error| Error::Request(Box::new(error)))
}

#[cfg(test)]
mod tests;
