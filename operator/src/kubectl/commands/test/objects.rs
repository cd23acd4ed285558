//! What a test creates, watches and deletes (IO). Errors are one sentence for users.

use super::manifests::LABEL;
use crate::api::error::message;
use crate::kubectl::api::Cluster;
use crate::kubectl::error::status_code;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;
use usnet_crds::UserspaceNetwork;

/// How often objects are read until they are as expected.
const POLL: Duration = Duration::from_millis(500);
/// What another test may still use is not removed.
const OLDER_THAN: i64 = 15 * 60;

/// Creates an object of the cluster.
pub(super) async fn create<K>(cluster: &Cluster, object: Value) -> Result<(), String>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
{
    create_by(&Api::<K>::all(cluster.client.clone()), object).await
}

/// Creates an object of a namespace.
pub(super) async fn create_in<K>(cluster: &Cluster, namespace: &str, object: Value) -> Result<(), String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize + DeserializeOwned + Clone + Debug,
{
    create_by(&Api::<K>::namespaced(cluster.client.clone(), namespace), object).await
}

async fn create_by<K>(api: &Api<K>, object: Value) -> Result<(), String>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
{
    let object: K = serde_json::from_value(object).map_err(|error| error.to_string())?;
    let (kind, name) = (K::kind(&()).into_owned(), object.name_any());
    let created = api.create(&PostParams::default(), &object).await;
    created.map(drop).map_err(|error| format!("cannot create {kind} {name}: {}", message(&error)))
}

/// Asks until there is an answer; the last reason why there is none if the time is over.
pub(super) async fn until<T, F>(limit: Duration, mut ask: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, Wait>>,
{
    let start = tokio::time::Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return Ok(answer),
            Err(Wait::Never(reason)) => return Err(reason),
            Err(Wait::For(reason)) if start.elapsed() > limit => {
                return Err(format!("{reason} ({} s)", limit.as_secs()));
            }
            Err(Wait::For(_)) => tokio::time::sleep(POLL).await,
        }
    }
}

/// Why there is no answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wait {
    /// It may come.
    For(String),
    /// It does not come.
    Never(String),
}

impl From<kube::Error> for Wait {
    fn from(error: kube::Error) -> Self {
        Self::For(message(&error))
    }
}

/// A pod.
pub(super) async fn pod(cluster: &Cluster, namespace: &str, name: &str) -> Result<Pod, kube::Error> {
    Api::<Pod>::namespaced(cluster.client.clone(), namespace).get(name).await
}

/// The messages of a pod's events, the latest last.
pub(super) async fn events(cluster: &Cluster, namespace: &str, pod: &str) -> Vec<String> {
    let fields = ListParams::default().fields(&format!("involvedObject.name={pod}"));
    let listed = Api::<Event>::namespaced(cluster.client.clone(), namespace).list(&fields).await;
    // Without them only the reason is missing.
    let mut events = listed.map(|list| list.items).unwrap_or_default();
    events.sort_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0));
    events.into_iter().filter_map(|event| event.message).collect()
}

/// Deletes what tests created: that of one test, or what tests that ended early have left, of the
/// last minutes as well with `all`. Returns what is left after the time is over.
pub(super) async fn remove(cluster: &Cluster, which: &Which, limit: Duration) -> Result<(), String> {
    let mut last = Vec::new();
    let start = tokio::time::Instant::now();
    loop {
        let left = delete_once(cluster, which).await?;
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > limit {
            last.extend(left);
            return Err(format!("still there after {} s: {}", limit.as_secs(), last.join(", ")));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Of which tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    /// That of this id.
    One(String),
    /// Those that were started long ago.
    Abandoned,
    /// Each.
    All,
}

/// Pods go before networks, so that each is detached from a network that is there.
async fn delete_once(cluster: &Cluster, which: &Which) -> Result<Vec<String>, String> {
    let pods = Api::<Pod>::all(cluster.client.clone());
    let selected = match which {
        Which::One(id) => format!("{LABEL}={id}"),
        Which::Abandoned | Which::All => LABEL.to_owned(),
    };
    let selected = ListParams::default().labels(&selected);
    let mut left = Vec::new();
    for pod in list(&pods, &selected, which).await? {
        let namespace = pod.namespace().unwrap_or_default();
        left.extend(delete(&Api::<Pod>::namespaced(cluster.client.clone(), &namespace), &pod).await?);
    }
    if !left.is_empty() {
        return Ok(left);
    }
    let networks = Api::<UserspaceNetwork>::all(cluster.client.clone());
    for network in list(&networks, &selected, which).await? {
        left.extend(delete(&networks, &network).await?);
    }
    let namespaces = Api::<Namespace>::all(cluster.client.clone());
    for namespace in list(&namespaces, &selected, which).await? {
        left.extend(delete(&namespaces, &namespace).await?);
    }
    Ok(left)
}

async fn list<K>(api: &Api<K>, selected: &ListParams, which: &Which) -> Result<Vec<K>, String>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
{
    let listed = api.list(selected).await;
    let mut items = listed.map_err(|error| format!("cannot read {}: {}", K::plural(&()), message(&error)))?.items;
    let now = Timestamp::now();
    let is_old = |item: &K| {
        let created = item.meta().creation_timestamp.as_ref().map(|time| time.0);
        created.is_some_and(|created| now.as_second() - created.as_second() > OLDER_THAN)
    };
    items.retain(|item| *which != Which::Abandoned || is_old(item));
    Ok(items)
}

/// Deletes an object if it is not being deleted; its name, as it is still there.
async fn delete<K>(api: &Api<K>, object: &K) -> Result<Option<String>, String>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
{
    let name = object.name_any();
    let kind = K::kind(&());
    if object.meta().deletion_timestamp.is_none() {
        match api.delete(&name, &DeleteParams::default()).await {
            Err(error) if status_code(&error) == Some(404) => return Ok(None),
            deleted => drop(deleted.map_err(|error| format!("cannot delete {kind} {name}: {}", message(&error)))?),
        }
    }
    Ok(Some(format!("{kind} {name}")))
}
