//! Reads the pod and its events (IO).

use crate::api::{Cluster, Scope, optional};
use crate::error::Error;
use crate::model::snapshot::Event;
use crate::model::{Objects, Pod, Snapshot};
use k8s_openapi::api::core::v1;

/// Reads a pod, and its events into the snapshot. A name without namespace is first looked up in
/// the namespace of the context, then in all others, where it must be unique.
pub(crate) async fn read(cluster: &Cluster, snapshot: &mut Snapshot, name: &str) -> Result<Pod, Error> {
    let pod = match (name.split_once('/'), &cluster.chosen_namespace) {
        (Some((namespace, name)), _) => get(cluster, namespace, name).await?,
        (None, Some(namespace)) => get(cluster, namespace, name).await?,
        (None, None) => match get(cluster, &cluster.default_namespace, name).await {
            Err(Error::NotFound { .. }) => find_in_all_namespaces(cluster, name).await?,
            other => other?,
        },
    };
    read_events(cluster, snapshot, &pod).await;
    Ok(pod)
}

/// Reads the events of a pod into the snapshot.
pub(crate) async fn read_events(cluster: &Cluster, snapshot: &mut Snapshot, pod: &Pod) {
    let fields = format!("involvedObject.name={},involvedObject.kind=Pod", pod.name);
    let listed = cluster.list(Scope::Namespace(&pod.namespace), Some(&fields), |event: v1::Event| event).await;
    snapshot.unread_objects.remove(&Objects::Events);
    let listed = optional(snapshot, Objects::Events, &format!("events in {}", pod.namespace), listed);
    snapshot.events = events(listed, pod);
}

/// Returns a pod; `None` if it does not exist.
pub(crate) async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<Option<Pod>, Error> {
    Ok(cluster.get::<v1::Pod>(Scope::Namespace(namespace), name).await?.map(Pod::from))
}

pub(crate) async fn get(cluster: &Cluster, namespace: &str, name: &str) -> Result<Pod, Error> {
    find(cluster, namespace, name).await?.ok_or_else(|| Error::NotFound {
        kind: "pod",
        name: format!("{namespace}/{name}"),
        suggestion: format!(": kubectl get pods -n {namespace}"),
    })
}

async fn find_in_all_namespaces(cluster: &Cluster, name: &str) -> Result<Pod, Error> {
    let fields = format!("metadata.name={name}");
    let not_found = || Error::NotFound {
        kind: "pod",
        name: format!("{}/{name}", cluster.default_namespace),
        suggestion: ": name its namespace with -n NAMESPACE, or as NAMESPACE/NAME".to_owned(),
    };
    // A user who may not list all pods has to name the namespace.
    let listed = match cluster.list(Scope::Cluster, Some(&fields), |pod: v1::Pod| Pod::from(pod)).await {
        Err(Error::Forbidden { .. }) => return Err(not_found()),
        listed => listed?.objects,
    };
    only(listed, name)?.ok_or_else(not_found)
}

/// Returns the only pod of a list; `None` if it is empty.
fn only(mut pods: Vec<Pod>, name: &str) -> Result<Option<Pod>, Error> {
    if pods.len() > 1 {
        let candidates = pods.iter().map(Pod::reference).collect();
        return Err(Error::Ambiguous { kind: "pod", name: name.to_owned(), candidates });
    }
    Ok(pods.pop())
}

/// Returns the events of this pod, the latest last, without those of an earlier pod of the same
/// name. Events of kubelet and agents about a static pod have the uid that it has on its node.
fn events(listed: Vec<v1::Event>, pod: &Pod) -> Vec<Event> {
    events_of(listed.into_iter(), |uid| ["", &pod.uid, &pod.runtime_uid].contains(&uid))
}

/// Returns the events of objects with such a uid, the latest last.
pub(crate) fn events_of(listed: impl Iterator<Item = v1::Event>, is_uid: impl Fn(&str) -> bool) -> Vec<Event> {
    let is_of_object = |event: &v1::Event| event.involved_object.uid.as_deref().is_none_or(&is_uid);
    let event = |event: v1::Event| Event {
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
        is_warning: event.type_.as_deref() == Some("Warning"),
        time: event.last_timestamp.map(|time| time.0).or_else(|| event.event_time.map(|time| time.0)),
        count: event.series.and_then(|series| series.count).or(event.count).unwrap_or(1),
    };
    let mut events: Vec<Event> = listed.filter(is_of_object).map(event).collect();
    events.sort_by_key(|event| event.time);
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_that_several_pods_have_is_ambiguous() {
        let pod = |namespace: &str| Pod { namespace: namespace.to_owned(), name: "a".to_owned(), ..Pod::default() };
        assert_eq!(only(vec![pod("web")], "a").unwrap(), Some(pod("web")));
        assert_eq!(only(vec![], "a").unwrap(), None);
        let error = only(vec![pod("web"), pod("db")], "a").unwrap_err();
        assert_eq!((error.exit_status(), error.to_string().as_str()), (3, "pod a is ambiguous: web/a, db/a"));
    }

    #[test]
    fn events_of_an_earlier_pod_of_the_name_do_not_count() {
        let event = |uid: &str, message: &str, second: i64| {
            let time = format!("1970-01-01T00:00:0{second}Z");
            json!({"metadata": {}, "involvedObject": {"uid": uid}, "message": message, "reason": "r", "lastTimestamp": time})
        };
        let listed = json!([event("u", "late", 2), event("old", "other", 3), event("node", "early", 1)]);
        // A static pod has another uid on its node.
        let pod = Pod { uid: "u".to_owned(), runtime_uid: "node".to_owned(), ..Pod::default() };
        let messages: Vec<_> =
            events(serde_json::from_value(listed).unwrap(), &pod).into_iter().map(|it| it.message).collect();
        assert_eq!(messages, ["early", "late"]);
    }
}
