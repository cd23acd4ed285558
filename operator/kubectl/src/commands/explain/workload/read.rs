//! Reads a workload, the pods of its namespace, and their events (IO).

use super::Workload;
use crate::api::{Cluster, Scope, optional};
use crate::commands::explain::pod::read::events_of;
use crate::commands::explain::subject::Kind;
use crate::error::Error;
use crate::model::pod::NETWORKS;
use crate::model::snapshot::Event;
use crate::model::{Objects, Pod, Snapshot};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Resource;
use kube::core::Selector;
use serde::de::DeserializeOwned;

/// Returns the workload of this kind.
pub(super) async fn workload(cluster: &Cluster, kind: Kind, namespace: &str, name: &str) -> Result<Workload, Error> {
    let place = (namespace, name);
    let (kind, metadata, selector, wanted) = match kind {
        Kind::Deployment => {
            let Deployment { metadata, spec, .. } = get(cluster, "Deployment", place).await?;
            let spec = spec.unwrap_or_default();
            ("Deployment", metadata, Some(spec.selector), spec.replicas)
        }
        Kind::ReplicaSet => {
            let ReplicaSet { metadata, spec, .. } = get(cluster, "ReplicaSet", place).await?;
            let spec = spec.unwrap_or_default();
            ("ReplicaSet", metadata, Some(spec.selector), spec.replicas)
        }
        Kind::StatefulSet => {
            let StatefulSet { metadata, spec, .. } = get(cluster, "StatefulSet", place).await?;
            let spec = spec.unwrap_or_default();
            ("StatefulSet", metadata, Some(spec.selector), spec.replicas)
        }
        Kind::DaemonSet => {
            let DaemonSet { metadata, spec, status } = get(cluster, "DaemonSet", place).await?;
            let wanted = status.map(|status| status.desired_number_scheduled);
            ("DaemonSet", metadata, spec.map(|spec| spec.selector), wanted)
        }
        _ => {
            let Job { metadata, spec, .. } = get(cluster, "Job", place).await?;
            let spec = spec.unwrap_or_default();
            ("Job", metadata, spec.selector, spec.parallelism)
        }
    };
    // The API server accepts valid selectors only.
    let selector = selector.and_then(|it: LabelSelector| Selector::try_from(it).ok()).unwrap_or_default();
    let is_annotated = metadata.annotations.is_some_and(|all| all.contains_key(NETWORKS));
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    Ok(Workload { kind, namespace, name, selector, wanted, is_annotated })
}

async fn get<K>(cluster: &Cluster, kind: &'static str, (namespace, name): (&str, &str)) -> Result<K, Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    cluster.get::<K>(Scope::Namespace(namespace), name).await?.ok_or_else(|| Error::NotFound {
        kind,
        name: format!("{namespace}/{name}"),
        suggestion: format!(": kubectl get {} -n {namespace}", kind.to_lowercase()),
    })
}

pub(super) async fn pods(cluster: &Cluster, namespace: &str) -> Result<Vec<Pod>, Error> {
    let listed = cluster.list(Scope::Namespace(namespace), None, |pod: v1::Pod| Pod::from(pod)).await?;
    Ok(listed.objects)
}

/// The events of a namespace.
#[derive(Debug, Default)]
pub(super) struct Events(pub(super) Vec<v1::Event>);

pub(super) async fn events(cluster: &Cluster, snapshot: &mut Snapshot, namespace: &str) -> Events {
    let listed = cluster.list(Scope::Namespace(namespace), None, |event: v1::Event| event).await;
    snapshot.unread_objects.remove(&Objects::Events);
    Events(optional(snapshot, Objects::Events, &format!("events in {namespace}"), listed))
}

impl Events {
    pub(super) fn of_pod(&self, pod: &Pod) -> Vec<Event> {
        let is_it = |event: &&v1::Event| {
            let object = &event.involved_object;
            object.kind.as_deref() == Some("Pod") && object.name.as_deref() == Some(pod.name.as_str())
        };
        events_of(self.0.iter().filter(is_it).cloned(), |uid| ["", &pod.uid, &pod.runtime_uid].contains(&uid))
    }

    pub(super) fn of_workload(&self, workload: &Workload) -> Vec<Event> {
        let is_it = |event: &&v1::Event| {
            let object = &event.involved_object;
            let kind = object.kind.as_deref().unwrap_or_default();
            workload.is_about(kind, object.name.as_deref().unwrap_or_default())
        };
        events_of(self.0.iter().filter(is_it).cloned(), |_| true)
    }
}
