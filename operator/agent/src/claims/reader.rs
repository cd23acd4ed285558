//! Reads claims from the API server, and reports their devices there (IO).

use super::claim::ResourceClaim;
use super::metadata;
use crate::report::status_writer::FIELD_MANAGER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::api::device_api::DRIVER;
use usnet_common::api::error::is_not_found;
use usnet_dataplane::claim_records::ClaimRecord;

/// How long the API server may take to answer. kubelet waits 45 s for all claims of a pod.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a claim cannot be read, or its status cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("there is no claim {0}: it was deleted")]
    NotFound(String),
    #[error("the API server refused to {action} {claim}, or could not be reached")]
    Request { action: &'static str, claim: String, source: Box<kube::Error> },
    #[error("cannot {action} {claim}: the API server does not answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout { action: &'static str, claim: String },
}

/// Reads claims and reports their devices.
#[tonic::async_trait]
pub(super) trait Claims: Send + Sync {
    async fn get(&self, namespace: &str, name: &str) -> Result<ResourceClaim, Error>;

    /// Writes the devices of a prepared claim into its status.
    async fn report(&self, record: &ClaimRecord) -> Result<(), Error>;
}

/// The claims of the API server.
pub(super) struct ApiServer {
    client: Client,
}

impl ApiServer {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }
}

#[tonic::async_trait]
impl Claims for ApiServer {
    async fn get(&self, namespace: &str, name: &str) -> Result<ResourceClaim, Error> {
        let api: Api<ResourceClaim> = Api::namespaced(self.client.clone(), namespace);
        let claim = format!("{namespace}/{name}");
        match request("read claim", &claim, api.get_opt(name)).await? {
            Some(found) => Ok(found),
            None => Err(Error::NotFound(claim)),
        }
    }

    async fn report(&self, record: &ClaimRecord) -> Result<(), Error> {
        let api: Api<ResourceClaim> = Api::namespaced(self.client.clone(), &record.namespace);
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let body = Patch::Apply(status(record, &Time(Timestamp::now())));
        let claim = format!("{}/{}", record.namespace, record.name);
        let written = api.patch_status(&record.name, &parameters, &body);
        match request("write the status of claim", &claim, written).await {
            Err(Error::Request { source, .. }) if is_not_found(&source) => Err(Error::NotFound(claim)),
            result => result.map(drop),
        }
    }
}

async fn request<T>(
    action: &'static str,
    claim: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    let answer = timeout(REQUEST_TIMEOUT, request).await;
    let answer = answer.map_err(|_| Error::Timeout { action, claim: claim.to_owned() })?;
    answer.map_err(|source| Error::Request { action, claim: claim.to_owned(), source: Box::new(source) })
}

/// The status of a prepared claim, with the devices of this driver only. The uid excludes another
/// claim of the same name.
fn status(record: &ClaimRecord, now: &Time) -> Value {
    let devices = record.ports.iter().map(|port| {
        let (status, reason, message) = match port.attached {
            Some(_) => ("True", "Attached", "the port is attached"),
            None => ("False", "WithSandbox", "the interface is attached when the pod gets its network namespace"),
        };
        let mut device = json!({
            "driver": DRIVER, "pool": port.pool, "device": port.device,
            "conditions": [{
                "type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
            }],
            "networkData": metadata::network_data(port),
            "data": {
                "network": port.network,
                "directory": (!port.is_with_sandbox).then(|| super::container::container_directory(record, port)),
                "socket": port.attached.as_ref().and_then(|attached| attached.socket.as_ref()),
            },
        });
        if let (Some(share), Some(keys)) = (&port.share_id, device.as_object_mut()) {
            keys.insert("shareID".to_owned(), json!(share));
        }
        device
    });
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": record.name, "namespace": record.namespace, "uid": record.uid},
        "status": {"devices": devices.collect::<Vec<_>>()},
    })
}

#[cfg(test)]
mod tests {
    use super::super::metadata::tests::record;
    use super::*;

    #[test]
    fn the_status_has_network_data() {
        let status = status(&record(), &Time(Timestamp::UNIX_EPOCH));
        let device = &status["status"]["devices"][0];
        assert_eq!((&status["metadata"]["uid"], &device["shareID"]), (&json!("c-1"), &json!("s-1")));
        assert_eq!(device["networkData"]["ips"], json!(["10.1.2.3/24"]));
        assert_eq!(device["data"]["directory"], "/run/usnet.dev/uplink/port");
        assert_eq!(device["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
    }
}
