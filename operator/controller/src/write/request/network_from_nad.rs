//! Creates and restores networks that are generated from NADs. A network that a user created
//! meanwhile is never changed.

use super::outcome::Done;
use super::verbs::FIELD_MANAGER;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use usnet_crds::nad::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::node_selection::resource_version;
use usnet_crds::{UserspaceNetwork, UserspaceNetworkSpec};

/// Creates the network when it has no uid yet, and otherwise restores its spec.
pub(super) async fn write(
    client: Client,
    name: &str,
    uid: Option<&str>,
    spec: &UserspaceNetworkSpec,
) -> Result<Done, kube::Error> {
    match uid {
        None => ignore_already_exists(create(client, name, spec).await),
        Some(uid) => restore(client, name, uid, spec).await,
    }
}

/// Creates instead of applying: a network of that name that a user created meanwhile stays as it
/// is.
async fn create(client: Client, name: &str, spec: &UserspaceNetworkSpec) -> Result<Done, kube::Error> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let mut network = UserspaceNetwork::new(name, spec.clone());
    network.labels_mut().insert(FROM_NAD_LABEL.to_owned(), FROM_NAD_VALUE.to_owned());
    let created = Api::all(client).create(&parameters, &network).await?;
    Ok(Done::Written(resource_version(created.metadata.resource_version.as_deref())))
}

/// Replaces the whole spec, including fields that others added. The preconditions protect a
/// recreated object of that name, and one without the label.
async fn restore(client: Client, name: &str, uid: &str, spec: &UserspaceNetworkSpec) -> Result<Done, kube::Error> {
    let label = format!("/metadata/labels/{}", FROM_NAD_LABEL.replace('/', "~1"));
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": label, "value": FROM_NAD_VALUE},
        {"op": "replace", "path": "/spec", "value": spec},
    ]);
    let patch: Patch<()> = Patch::Json(serde_json::from_value(operations).map_err(kube::Error::SerdeError)?);
    let networks: Api<UserspaceNetwork> = Api::all(client);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let answer = networks.patch_metadata(name, &parameters, &patch).await?;
    Ok(Done::Written(resource_version(answer.metadata.resource_version.as_deref())))
}

/// Another request was faster; the watch will show its result.
fn ignore_already_exists(result: Result<Done, kube::Error>) -> Result<Done, kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Done::NoOp),
        other => other,
    }
}
