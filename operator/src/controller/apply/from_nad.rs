//! Makes and mends networks that follow from definitions. A network of a person that came meanwhile is never touched.

use super::FIELD_MANAGER;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DeserializeGuard;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use usnet_crds::definition::{FROM_NAD_LABEL, FROM_NAD_VALUE};
use usnet_crds::{UserspaceNetwork, UserspaceNetworkSpec};

/// Makes the network when it has no uid yet, and otherwise puts its spec back.
pub(super) async fn write(
    client: Client,
    name: &str,
    uid: Option<&str>,
    spec: &UserspaceNetworkSpec,
) -> Result<(), kube::Error> {
    match uid {
        None => unless_there(make(client, name, spec).await),
        Some(uid) => put_back(client, name, uid, spec).await,
    }
}

/// Created and not applied: a network of that name that somebody made meanwhile stays as it is.
async fn make(client: Client, name: &str, spec: &UserspaceNetworkSpec) -> Result<(), kube::Error> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let mut network = UserspaceNetwork::new(name, spec.clone());
    network.labels_mut().insert(FROM_NAD_LABEL.to_owned(), FROM_NAD_VALUE.to_owned());
    Api::all(client).create(&parameters, &network).await.map(drop)
}

/// The whole spec is replaced, with what others added to it. The API server refuses that for another object of that name, and without the label.
async fn put_back(client: Client, name: &str, uid: &str, spec: &UserspaceNetworkSpec) -> Result<(), kube::Error> {
    let label = format!("/metadata/labels/{}", FROM_NAD_LABEL.replace('/', "~1"));
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": label, "value": FROM_NAD_VALUE},
        {"op": "replace", "path": "/spec", "value": spec},
    ]);
    let patch: Patch<()> = Patch::Json(serde_json::from_value(operations).map_err(kube::Error::SerdeError)?);
    let networks: Api<DeserializeGuard<UserspaceNetwork>> = Api::all(client);
    let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    networks.patch(name, &parameters, &patch).await.map(drop)
}

/// Somebody was quicker, and the watch will tell who.
fn unless_there(result: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other,
    }
}
