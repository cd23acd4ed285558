//! Removes the slices of a node whose agent ends (IO). Kubelet does that as well, after half a
//! minute, during which the scheduler would place pods whose claims are not prepared.

use super::slice::ResourceSlice;
use futures::future::join_all;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::api::device_api::DRIVER;
use usnet_common::display::ErrorChain;

/// The agent does not end later than this for an API server that does not answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Deletes all slices of this driver and node. What fails is logged, and left to kubelet.
pub(in crate::claims) async fn withdraw(client: Client, node: &str) {
    let api: Api<ResourceSlice> = Api::all(client);
    match timeout(TIMEOUT, delete_all(&api, node)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(slices)) => tracing::info!(slices, "withdrew the node's devices for resource claims"),
        Ok(Err(error)) => {
            tracing::warn!(error = %ErrorChain(&error), "cannot withdraw the node's devices for resource claims");
        }
        Err(_) => tracing::warn!("cannot withdraw the node's devices for resource claims: no answer"),
    }
}

async fn delete_all(api: &Api<ResourceSlice>, node: &str) -> kube::Result<usize> {
    let own = ListParams::default().fields(&format!("spec.driver={DRIVER},spec.nodeName={node}"));
    let slices = api.list(&own).await?.items;
    let names = slices.iter().filter_map(|slice| slice.metadata.name.as_deref());
    let results = join_all(names.map(async |name| api.delete(name, &DeleteParams::default()).await)).await;
    results.into_iter().collect::<kube::Result<Vec<_>>>()?;
    Ok(slices.len())
}
