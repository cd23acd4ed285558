//! Creates, reads and deletes the objects of tests (IO). Errors are one sentence for users.

use super::manifests::LABEL;
use crate::api::Cluster;
use crate::error::status_code;
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
use usnet_common::api::error::message;
use usnet_crds::UserspaceNetwork;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Objects that are younger, in seconds, may be in use by another test.
const ABANDONED_AFTER: i64 = 15 * 60;

/// Creates a cluster-scoped object.
pub(super) async fn create<K>(cluster: &Cluster, object: Value) -> Result<(), String>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
{
    create_by(&Api::<K>::all(cluster.client.clone()), object).await
}

/// Creates a namespaced object.
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

/// Polls until `poll` succeeds. After the time limit, returns the last reason why it did not.
pub(super) async fn poll_until<T, F>(limit: Duration, mut poll: impl FnMut() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, PollError>>,
{
    let start = tokio::time::Instant::now();
    loop {
        match poll().await {
            Ok(result) => return Ok(result),
            Err(PollError::Fatal(reason)) => return Err(reason),
            Err(PollError::Retry(reason)) if start.elapsed() > limit => {
                return Err(format!("{reason} ({} s)", limit.as_secs()));
            }
            Err(PollError::Retry(_)) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PollError {
    /// Polling continues.
    Retry(String),
    /// Polling ends.
    Fatal(String),
}

impl From<kube::Error> for PollError {
    fn from(error: kube::Error) -> Self {
        Self::Retry(message(&error))
    }
}

pub(super) async fn pod(cluster: &Cluster, namespace: &str, name: &str) -> Result<Pod, kube::Error> {
    Api::<Pod>::namespaced(cluster.client.clone(), namespace).get(name).await
}

/// Returns the messages of a pod's events, the latest last.
pub(super) async fn events(cluster: &Cluster, namespace: &str, pod: &str) -> Vec<String> {
    let fields = ListParams::default().fields(&format!("involvedObject.name={pod}"));
    let listed = Api::<Event>::namespaced(cluster.client.clone(), namespace).list(&fields).await;
    // Events only add the reason of a failure.
    let mut events = listed.map(|list| list.items).unwrap_or_default();
    events.sort_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0));
    events.into_iter().filter_map(|event| event.message).collect()
}

/// Deletes the objects of tests. The error names what is left after the time limit.
pub(super) async fn remove(cluster: &Cluster, scope: &TestScope, limit: Duration) -> Result<(), String> {
    let mut last = Vec::new();
    let start = tokio::time::Instant::now();
    loop {
        let left = delete_once(cluster, scope).await?;
        if left.is_empty() {
            return Ok(());
        }
        if start.elapsed() > limit {
            last.extend(left);
            return Err(format!("still there after {} s: {}", limit.as_secs(), last.join(", ")));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// The tests whose objects are deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestScope {
    /// The test with this id.
    One(String),
    /// Tests that started more than [`ABANDONED_AFTER`] ago.
    Abandoned,
    All,
}

/// Deletes pods before networks, so that each pod is detached from an existing network. Returns
/// what is left.
async fn delete_once(cluster: &Cluster, scope: &TestScope) -> Result<Vec<String>, String> {
    let pods = Api::<Pod>::all(cluster.client.clone());
    let selected = match scope {
        TestScope::One(id) => format!("{LABEL}={id}"),
        TestScope::Abandoned | TestScope::All => LABEL.to_owned(),
    };
    let selected = ListParams::default().labels(&selected);
    let mut left = Vec::new();
    for pod in list(&pods, &selected, scope).await? {
        let namespace = pod.namespace().unwrap_or_default();
        left.extend(delete(&Api::<Pod>::namespaced(cluster.client.clone(), &namespace), &pod).await?);
    }
    if !left.is_empty() {
        return Ok(left);
    }
    let networks = Api::<UserspaceNetwork>::all(cluster.client.clone());
    for network in list(&networks, &selected, scope).await? {
        left.extend(delete(&networks, &network).await?);
    }
    let namespaces = Api::<Namespace>::all(cluster.client.clone());
    for namespace in list(&namespaces, &selected, scope).await? {
        left.extend(delete(&namespaces, &namespace).await?);
    }
    Ok(left)
}

async fn list<K>(api: &Api<K>, selected: &ListParams, scope: &TestScope) -> Result<Vec<K>, String>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
{
    let listed = api.list(selected).await;
    let mut items = listed.map_err(|error| format!("cannot read {}: {}", K::plural(&()), message(&error)))?.items;
    let now = Timestamp::now();
    let is_old = |item: &K| {
        let created = item.meta().creation_timestamp.as_ref().map(|time| time.0);
        created.is_some_and(|created| now.as_second() - created.as_second() > ABANDONED_AFTER)
    };
    items.retain(|item| *scope != TestScope::Abandoned || is_old(item));
    Ok(items)
}

/// Deletes an object unless it is being deleted already. Returns its name while it exists.
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
