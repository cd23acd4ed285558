//! The requests (IO).

use crate::plan::Operation;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::api::error::is_not_found;
use usnet_crds::CompiledPolicy;

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
    let api = Api::<CompiledPolicy>::all(client.clone());
    match operation {
        Operation::Apply(name, spec) => {
            let body = json!({
                "apiVersion": CompiledPolicy::api_version(&()), "kind": CompiledPolicy::kind(&()),
                "metadata": {"name": name}, "spec": spec,
            });
            let params = PatchParams::apply(FIELD_MANAGER).force();
            sent("apply", name, api.patch(name, &params, &Patch::Apply(body))).await?;
            tracing::info!(policy = name, "compiled");
        }
        Operation::Delete(name) => {
            match sent("delete", name, api.delete(name, &DeleteParams::default())).await {
                // What is not there needs no deletion.
                Err(WriteError::Request { source, .. }) if is_not_found(&source) => {}
                result => result.map(drop)?,
            }
            tracing::info!(policy = name, "deleted");
        }
    }
    Ok(())
}

async fn sent<T>(
    verb: &'static str,
    what: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WriteError> {
    let failed = |source| WriteError::Request { verb, what: what.to_owned(), source: Box::new(source) };
    timeout(REQUEST_TIMEOUT, request).await.map_err(|_| WriteError::Timeout)?.map_err(failed)
}
