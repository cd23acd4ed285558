//! Reads a workload, the pods of its namespace, and their events (IO).

use super::Workload;
use crate::api::{Cluster, Scope, optional};
use crate::commands::explain::pod::read::events_of;
use crate::commands::explain::subject::Kind;
use crate::error::Error;
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
    let (kind, selector, wanted) = match kind {
        Kind::Deployment => {
            let spec = get::<Deployment>(cluster, "Deployment", place).await?.spec.unwrap_or_default();
            ("Deployment", Some(spec.selector), spec.replicas)
        }
        Kind::ReplicaSet => {
            let spec = get::<ReplicaSet>(cluster, "ReplicaSet", place).await?.spec.unwrap_or_default();
            ("ReplicaSet", Some(spec.selector), spec.replicas)
        }
        Kind::StatefulSet => {
            let spec = get::<StatefulSet>(cluster, "StatefulSet", place).await?.spec.unwrap_or_default();
            ("StatefulSet", Some(spec.selector), spec.replicas)
        }
        Kind::DaemonSet => {
            let set = get::<DaemonSet>(cluster, "DaemonSet", place).await?;
            let wanted = set.status.map(|status| status.desired_number_scheduled);
            ("DaemonSet", set.spec.map(|spec| spec.selector), wanted)
        }
        _ => {
            let spec = get::<Job>(cluster, "Job", place).await?.spec.unwrap_or_default();
            ("Job", spec.selector, spec.parallelism)
        }
    };
    // The API server accepts valid selectors only.
    let selector = selector.and_then(|it: LabelSelector| Selector::try_from(it).ok()).unwrap_or_default();
    Ok(Workload { kind, namespace: namespace.to_owned(), name: name.to_owned(), selector, wanted })
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
