//! The two patches of a pod's status that the agent sends: one that changes nothing, for its
//! response, and one of annotations.

use super::merge::Changes;
use crate::report::status_writer::FIELD_MANAGER;
use k8s_openapi::api::core::v1::Pod as PodObject;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;
use usnet_dataplane::attachment::Pod;

/// Pods are written one after the other: a request that is never answered must not block the rest.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The HTTP status for a pod that does not exist.
const NOT_FOUND: u16 = 404;
/// The HTTP status for a pod of that name with another uid, because the uid is immutable.
const INVALID: u16 = 422;

/// Why annotations were not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot update the annotations of pod {pod}")]
    Request { pod: Pod, source: Box<kube::Error> },
    #[error("cannot update the annotations of pod {pod}: no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout { pod: Pod },
}

/// The answer of the API server.
#[derive(Debug)]
pub(super) enum Answer {
    Pod(Box<PodObject>),
    /// There is no pod with that uid any more.
    Gone,
}

/// Patches the pods of the node.
pub(super) struct PodPatches {
    client: Client,
}

impl PodPatches {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Reads the pod.
    pub(super) async fn get(&self, pod: &Pod) -> Result<Answer, Error> {
        self.patch(pod, json!({"uid": pod.uid})).await
    }

    pub(super) async fn annotate(&self, pod: &Pod, changes: &Changes) -> Result<Answer, Error> {
        self.patch(pod, json!({"uid": pod.uid, "annotations": changes})).await
    }

    async fn patch(&self, pod: &Pod, metadata: Value) -> Result<Answer, Error> {
        let api: Api<PodObject> = Api::namespaced(self.client.clone(), &pod.namespace);
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let body = Patch::Merge(json!({"metadata": metadata}));
        match timeout(REQUEST_TIMEOUT, api.patch_status(&pod.name, &parameters, &body)).await {
            Ok(Ok(found)) => Ok(Answer::Pod(Box::new(found))),
            Ok(Err(kube::Error::Api(answer))) if matches!(answer.code, NOT_FOUND | INVALID) => Ok(Answer::Gone),
            Ok(Err(source)) => Err(Error::Request { pod: pod.clone(), source: Box::new(source) }),
            Err(_) => Err(Error::Timeout { pod: pod.clone() }),
        }
    }
}
