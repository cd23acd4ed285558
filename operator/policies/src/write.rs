//! The requests (IO).

use crate::plan::Operation;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::api::error::is_not_found;
use usnet_crds::nad::NETWORK_LABEL;
use usnet_crds::{CompiledPolicy, UserspacePodSlice};

/// The name by which the API server knows the fields that this program sets.
const FIELD_MANAGER: &str = "usnet-policies";
/// The time for one request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(
        "the API server refused to {verb} {what}, or could not be reached: are the roles of config/components/policies there?"
    )]
    Request { verb: &'static str, what: String, source: Box<kube::Error> },
    #[error("the API server does not answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
}

impl WriteError {
    /// Whether the API server answered, so that other requests may succeed.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Request { source, .. } if matches!(**source, kube::Error::Api(_)))
    }
}

/// Sends one request.
pub(crate) async fn write(client: &Client, operation: &Operation) -> Result<(), WriteError> {
    match operation {
        Operation::ApplyPolicy(name, spec) => {
            apply::<CompiledPolicy>(client, name, json!({}), json!(spec)).await?;
            tracing::info!(policy = name, "compiled");
        }
        Operation::DeletePolicy(name) => {
            delete::<CompiledPolicy>(client, name).await?;
            tracing::info!(policy = name, "deleted");
        }
        Operation::ApplySlice(name, spec) => {
            let labels = json!({NETWORK_LABEL: spec.network});
            apply::<UserspacePodSlice>(client, name, labels, json!(spec)).await?;
            tracing::debug!(slice = name, pods = spec.pods.len(), "wrote the pods of a network");
        }
        Operation::DeleteSlice(name) => {
            delete::<UserspacePodSlice>(client, name).await?;
            tracing::debug!(slice = name, "deleted a slice without pods");
        }
    }
    Ok(())
}

async fn apply<K>(client: &Client, name: &str, labels: Value, spec: Value) -> Result<(), WriteError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let metadata = json!({"name": name, "labels": labels});
    let body = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": metadata, "spec": spec});
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let api = Api::<K>::all(client.clone());
    sent("apply", name, api.patch(name, &params, &Patch::Apply(body))).await.map(drop)
}

async fn delete<K>(client: &Client, name: &str) -> Result<(), WriteError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api = Api::<K>::all(client.clone());
    match sent("delete", name, api.delete(name, &DeleteParams::default())).await {
        // What is not there needs no deletion.
        Err(WriteError::Request { source, .. }) if is_not_found(&source) => Ok(()),
        result => result.map(drop),
    }
}

async fn sent<T>(
    verb: &'static str,
    what: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WriteError> {
    let failed = |source| WriteError::Request { verb, what: what.to_owned(), source: Box::new(source) };
    timeout(REQUEST_TIMEOUT, request).await.map_err(|_| WriteError::Timeout)?.map_err(failed)
}
