//! The requests (IO).
//!
//! An object that is stored is replaced by a JSON patch. For server-side apply, the API server
//! would compare its fields with those that it knows to be this program's. A patch also removes the
//! record of these: no other client may write the objects, and every watcher would get the record
//! with each change.

use crate::plan::Operation;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::timeout;
use usnet_crds::nad::NETWORK_LABEL;
use usnet_crds::{CompiledPolicy, UserspacePodSlice};

/// The name by which the API server knows who has created an object.
const FIELD_MANAGER: &str = "usnet-policies";
/// The time for one request.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Status codes: the object is not there, and it is there already.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

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
    /// The HTTP status of the answer.
    fn code(&self) -> Option<u16> {
        match self {
            Self::Request { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::Timeout => None,
        }
    }

    /// Whether the API server answered, so that other requests may succeed.
    pub(crate) fn is_answer(&self) -> bool {
        self.code().is_some()
    }
}

/// Writes or deletes one object, given whether it is stored as far as is known.
pub(crate) async fn write(client: &Client, operation: &Operation, is_stored: bool) -> Result<(), WriteError> {
    match operation {
        Operation::ApplyPolicy(name, spec) => {
            put(client, is_stored, CompiledPolicy::new(name, spec.clone())).await?;
            tracing::info!(policy = name, "compiled");
        }
        Operation::DeletePolicy(name) => {
            delete::<CompiledPolicy>(client, name).await?;
            tracing::info!(policy = name, "deleted");
        }
        Operation::ApplySlice(name, spec) => {
            let mut slice = UserspacePodSlice::new(name, spec.clone());
            slice.labels_mut().insert(NETWORK_LABEL.to_owned(), spec.network.to_string());
            put(client, is_stored, slice).await?;
            tracing::debug!(slice = name, pods = spec.pods_count(), "wrote the pods of a network");
        }
        Operation::DeleteSlice(name) => {
            delete::<UserspacePodSlice>(client, name).await?;
            tracing::debug!(slice = name, "deleted a slice without pods");
        }
    }
    Ok(())
}

/// Creates the object, or replaces what it says. It may have come or gone meanwhile.
async fn put<K>(client: &Client, is_stored: bool, object: K) -> Result<(), WriteError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let api = Api::<K>::all(client.clone());
    if is_stored {
        match replace(&api, &object).await {
            Err(error) if error.code() == Some(NOT_FOUND) => create(&api, &object).await,
            result => result,
        }
    } else {
        match create(&api, &object).await {
            Err(error) if error.code() == Some(CONFLICT) => replace(&api, &object).await,
            result => result,
        }
    }
}

async fn create<K>(api: &Api<K>, object: &K) -> Result<(), WriteError>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    sent("create", &object.name_any(), api.create(&parameters, object)).await.map(drop)
}

async fn replace<K>(api: &Api<K>, object: &K) -> Result<(), WriteError>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let name = object.name_any();
    let request = async {
        let patch = replacement(object).map_err(kube::Error::SerdeError)?;
        api.patch(&name, &PatchParams::default(), &patch).await
    };
    sent("patch", &name, request).await.map(drop)
}

/// The patch to the whole spec, and to labels if the object has any: merged, what is left out would
/// stay. It has no precondition.
fn replacement<K: Resource + Serialize>(object: &K) -> Result<Patch<()>, serde_json::Error> {
    let set = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let spec = serde_json::to_value(object)?.get_mut("spec").map(Value::take);
    let mut operations = vec![set("/spec", spec.unwrap_or_default())];
    if let Some(labels) = &object.meta().labels {
        operations.push(set("/metadata/labels", json!(labels)));
    }
    // The API server removes all entries if it gets one without fields.
    operations.push(set("/metadata/managedFields", json!([{}])));
    serde_json::from_value(Value::Array(operations)).map(Patch::Json)
}

async fn delete<K>(client: &Client, name: &str) -> Result<(), WriteError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api = Api::<K>::all(client.clone());
    match sent("delete", name, api.delete(name, &DeleteParams::default())).await {
        // What is not there needs no deletion.
        Err(error) if error.code() == Some(NOT_FOUND) => Ok(()),
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
