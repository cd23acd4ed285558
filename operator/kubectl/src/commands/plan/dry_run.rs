//! Asks the API server whether it accepts a manifest, by a request with `dryRun` (IO).

use super::files::NetworkManifest;
use crate::api::Cluster;
use crate::error::status_code;
use kube::Resource;
use kube::api::PostParams;
use kube::core::Request;
use serde_json::{Value, json};
use usnet_common::api::error::message;
use usnet_crds::UserspaceNetwork;

/// The API server rejects unknown fields, as with `kubectl`.
const STRICT: &str = "&fieldValidation=Strict";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Response {
    /// The accepted object, with all defaults.
    Accepted(Value),
    /// The reason of the rejection.
    Rejected(String),
}

/// Asks whether the API server accepts the manifest.
///
/// # Errors
/// When that is not known, for example because the user may not write networks.
pub(super) async fn validate(
    cluster: &Cluster,
    manifest: &NetworkManifest,
    existing: Option<&UserspaceNetwork>,
) -> Result<Response, String> {
    let mut object = manifest.object.clone();
    let requests = Request::new(UserspaceNetwork::url_path(&(), None));
    let params = PostParams { dry_run: true, field_manager: Some("kubectl-usnet".to_owned()) };
    let request = match existing.and_then(|existing| existing.metadata.resource_version.as_ref()) {
        Some(version) => {
            set_version(&mut object, version);
            requests.replace(&manifest.name, &params, object.to_string().into_bytes())
        }
        None => requests.create(&params, object.to_string().into_bytes()),
    };
    let mut request = request.map_err(|error| error.to_string())?;
    let uri = format!("{}{STRICT}", request.uri()).parse();
    *request.uri_mut() = uri.map_err(|_| "its name is not valid".to_owned())?;
    let response = tokio::time::timeout(cluster.timeout, cluster.client.request::<Value>(request)).await;
    match response.map_err(|_| "the API server did not respond in time".to_owned())? {
        Ok(object) => Ok(Response::Accepted(object)),
        Err(error) if matches!(status_code(&error), Some(400 | 422)) => Ok(Response::Rejected(message(&error))),
        Err(error) => Err(message(&error)),
    }
}

fn set_version(object: &mut Value, version: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(version));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use usnet_common::testing::api_server::{Answer, ApiServer};

    async fn asked(code: u16, existing: Option<&UserspaceNetwork>) -> (Result<Response, String>, String) {
        let reply = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "x", "message": "spec.engine: no"});
        let server = ApiServer::answering(vec![Answer::new(code, reply.to_string())]);
        let cluster = Cluster {
            server: String::new(),
            client: server.client(),
            streams: server.client(),
            chosen_namespace: None,
            default_namespace: String::new(),
            usnet_namespace: String::new(),
            timeout: Duration::from_secs(5),
        };
        let manifest = NetworkManifest { name: "blue".to_owned(), object: json!({"metadata": {"name": "blue"}}) };
        let result = validate(&cluster, &manifest, existing).await;
        (result, server.requests().remove(0))
    }

    #[tokio::test]
    async fn the_api_server_is_asked_and_changes_nothing() {
        let (result, request) = asked(200, None).await;
        assert!(matches!(result, Ok(Response::Accepted(_))), "{result:?}");
        assert!(request.starts_with("POST /apis/usnet.dev/v1alpha1/userspacenetworks?"), "{request}");
        assert!(request.contains("dryRun=All") && request.contains("fieldValidation=Strict"), "{request}");
        assert_eq!(asked(422, None).await.0, Ok(Response::Rejected("spec.engine: no".to_owned())));
        assert_eq!(asked(403, None).await.0, Err("spec.engine: no".to_owned()));
        let existing = json!({"metadata": {"name": "blue", "resourceVersion": "7"}, "spec": {"engine": "OVS", "namespaceSelector": {}}});
        let (_, request) = asked(200, Some(&serde_json::from_value(existing).unwrap())).await;
        assert!(request.starts_with("PUT ") && request.contains("/blue?&dryRun=All"), "{request}");
    }
}
