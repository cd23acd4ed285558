//! The verbs of requests, each with the uid of its object as precondition (IO).

use super::outcome::Done;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use usnet_crds::node_selection::resource_version;

/// The field manager of server-side apply.
pub(crate) const FIELD_MANAGER: &str = "usnet-controller";

/// Creates the object, or replaces these fields of the object with this uid.
pub(super) async fn create_or_replace<K>(
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

/// Applies an object without its status.
pub(super) async fn apply_metadata<K>(
    api: &Api<K>,
    name: &str,
    body: &(impl Serialize + Debug),
) -> Result<Done, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    written(api.patch_metadata(name, &parameters, &Patch::Apply(body)).await)
}

/// Applies a status. One of a deleted object is not needed.
pub(super) async fn apply_status<K>(
    api: &Api<K>,
    name: &str,
    body: &(impl Serialize + Debug),
) -> Result<Done, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let answer = api.patch_status(name, &parameters, &Patch::Apply(body)).await;
    let version = |object: K| Done::Written(resource_version(object.meta().resource_version.as_deref()));
    ignore_not_found(answer.map(version))
}

pub(super) fn patch_parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// A patch that replaces fields, with the uid as precondition. Server-side apply would keep fields
/// that others added.
pub(super) fn replace(uid: &str, fields: &[(&str, &Value)]) -> Result<Patch<()>, kube::Error> {
    json_patch(uid, fields.iter().map(|(path, value)| json!({"op": "add", "path": path, "value": value})))
}

/// A JSON patch, with the uid as precondition.
fn json_patch(uid: &str, operations: impl IntoIterator<Item = Value>) -> Result<Patch<()>, kube::Error> {
    let mut all = vec![json!({"op": "test", "path": "/metadata/uid", "value": uid})];
    all.extend(operations);
    serde_json::from_value(all.into()).map(Patch::Json).map_err(kube::Error::SerdeError)
}

/// Removes the finalizer at this index; the uid and the finalizer are preconditions. Server-side
/// apply would keep it where another field manager has set it too, as when the object was restored
/// from a backup, and the object would never be deleted.
pub(super) async fn remove_finalizer<K>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    finalizer: &str,
    index: usize,
) -> Result<Done, kube::Error>
where
    K: Clone + DeserializeOwned + Debug,
{
    let path = format!("/metadata/finalizers/{index}");
    let is_it = json!({"op": "test", "path": path, "value": finalizer});
    let patch = json_patch(uid, [is_it, json!({"op": "remove", "path": path})])?;
    written(api.patch_metadata(name, &patch_parameters(), &patch).await)
}

pub(super) fn written<K>(answer: Result<PartialObjectMeta<K>, kube::Error>) -> Result<Done, kube::Error> {
    answer.map(|answer| Done::Written(resource_version(answer.metadata.resource_version.as_deref())))
}

pub(super) async fn delete<K>(api: &Api<K>, name: &str, uid: Option<&String>) -> Result<Done, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let preconditions = Preconditions { uid: uid.cloned(), resource_version: None };
    let parameters = DeleteParams { preconditions: uid.map(|_| preconditions), ..DeleteParams::default() };
    ignore_not_found(api.delete(name, &parameters).await.map(|_| Done::Deleted))
}

/// An object that does not exist needs no change.
pub(super) fn ignore_not_found(result: Result<Done, kube::Error>) -> Result<Done, kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Done::NoOp),
        other => other,
    }
}
