//! The requests (IO).

use super::{CONTAINER, FINALIZER, NAMESPACE, name_of};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::time::Duration;
use tokio::time::timeout;
use usnet_common::api::error::is_not_found;
use usnet_crds::names::fnv1a;
use usnet_crds::{UserspaceEngine, UserspaceEngineStatus};

/// The name by which the API server knows the fields that this program sets.
const FIELD_MANAGER: &str = "usnet-engines";
/// The annotation with the hash of what was applied, so that nothing is applied twice.
const APPLIED_ANNOTATION: &str = "usnet.dev/applied";
/// The time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "the API server refused to {verb} {what}, or could not be reached: are the roles of config/components/engines there?"
    )]
    Request { verb: &'static str, what: String, source: Box<kube::Error> },
    #[error("the API server does not answer within {} s", REQUEST_TIMEOUT.as_secs())]
    Timeout,
}

#[derive(Clone)]
pub(super) struct Writer(pub(super) Client);

impl Writer {
    fn namespaced<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.0.clone(), NAMESPACE)
    }

    /// Applies an object of the namespace of engines, unless `present` is what was applied before.
    pub(super) async fn apply<K>(&self, object: &str, mut desired: Value, present: Option<&K>) -> Result<(), Error>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + DeserializeOwned + Debug,
    {
        let hash = format!("{:016x}", fnv1a(desired.to_string().as_bytes()));
        if present.is_some_and(|present| present.annotations().get(APPLIED_ANNOTATION) == Some(&hash)) {
            return Ok(());
        }
        if let Some(metadata) = desired.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("annotations".to_owned(), json!({APPLIED_ANNOTATION: hash}));
        }
        let name = name_of(object);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let api = self.namespaced::<K>();
        sent("apply", &name, api.patch(&name, &params, &Patch::Apply(desired))).await?;
        tracing::info!(engine = object, kind = %K::kind(&()), "applied");
        Ok(())
    }

    /// Deletes the DaemonSet and the ConfigMap of an object.
    pub(super) async fn delete_all(&self, object: &str) -> Result<(), Error> {
        let name = name_of(object);
        let params = DeleteParams::default();
        gone(sent("delete", &name, self.namespaced::<DaemonSet>().delete(&name, &params)).await.map(drop))?;
        gone(sent("delete", &name, self.namespaced::<ConfigMap>().delete(&name, &params)).await.map(drop))
    }

    pub(super) async fn delete_pod(&self, name: &str) -> Result<(), Error> {
        let api = self.namespaced::<Pod>();
        gone(sent("delete", name, api.delete(name, &DeleteParams::default())).await.map(drop))
    }

    /// Gives the engine of a pod another image, which restarts its container.
    pub(super) async fn exchange_image(&self, pod: &str, image: &str, annotations: &Value) -> Result<(), Error> {
        let containers = json!([{"name": CONTAINER, "image": image}]);
        let patch = Patch::Strategic(json!({
            "metadata": {"annotations": annotations}, "spec": {"containers": containers},
        }));
        let (params, api) = (
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() },
            self.namespaced::<Pod>(),
        );
        gone(sent("patch", pod, api.patch(pod, &params, &patch)).await.map(drop))
    }

    pub(super) async fn add_ephemeral_container(&self, pod: &str, container: &Value) -> Result<(), Error> {
        let patch = Patch::Strategic(json!({"spec": {"ephemeralContainers": [container]}}));
        let (params, api) = (PatchParams::default(), self.namespaced::<Pod>());
        gone(sent("patch", pod, api.patch_subresource("ephemeralcontainers", pod, &params, &patch)).await.map(drop))
    }

    pub(super) async fn set_finalizer(&self, object: &UserspaceEngine, is_there: bool) -> Result<(), Error> {
        let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if is_there {
            finalizers.push(FINALIZER.to_owned());
        }
        // The version is that of the list: another writer's finalizer is not lost.
        let metadata = json!({"finalizers": finalizers, "resourceVersion": object.metadata.resource_version});
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let (name, api) = (object.name_any(), Api::<UserspaceEngine>::all(self.0.clone()));
        gone(sent("patch", &name, api.patch(&name, &PatchParams::default(), &patch)).await.map(drop))
    }

    pub(super) async fn write_status(&self, name: &str, status: &UserspaceEngineStatus) -> Result<(), Error> {
        let body = json!({
            "apiVersion": UserspaceEngine::api_version(&()), "kind": UserspaceEngine::kind(&()),
            "metadata": {"name": name}, "status": status,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let api = Api::<UserspaceEngine>::all(self.0.clone());
        sent("patch the status of", name, api.patch_status(name, &params, &Patch::Apply(body))).await.map(drop)
    }
}

async fn sent<T>(
    verb: &'static str,
    what: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    let failed = |source| Error::Request { verb, what: what.to_owned(), source: Box::new(source) };
    timeout(REQUEST_TIMEOUT, request).await.map_err(|_| Error::Timeout)?.map_err(failed)
}

/// What is not there needs no deletion.
fn gone(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::Request { source, .. }) if is_not_found(&source) => Ok(()),
        other => other,
    }
}
