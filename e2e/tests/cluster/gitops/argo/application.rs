//! An Application for a folder of the repository, and its state.

use super::{Mode, NAMESPACE};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The annotation by which a comparison is requested.
pub(super) const REFRESH: &str = "argocd.argoproj.io/refresh";

/// Returns an Application as documented, which retries often enough to survive the deletion of a
/// pod.
pub(super) fn manifest(mode: Mode, part: &str, url: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {
            "name": part, "namespace": NAMESPACE, "finalizers": ["resources-finalizer.argocd.argoproj.io"],
        },
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "path": part, "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "default"},
            "syncPolicy": {
                "automated": {"prune": true, "selfHeal": true, "allowEmpty": true},
                "syncOptions": options(mode),
                "retry": {"limit": 4, "backoff": {"duration": "1s", "factor": 2, "maxDuration": "5s"}},
            },
        },
    })
}

/// Returns the same without an automatic policy: it is applied on request.
pub(super) fn manual(part: &str, url: &str) -> Value {
    let mut application = manifest(Mode::ClientSide, part, url);
    application["spec"].as_object_mut().map(|spec| spec.remove("syncPolicy"));
    application
}

/// Requests that a commit is applied.
pub(super) fn operation(mode: Mode, commit: &str) -> Value {
    json!({"operation": {
        "initiatedBy": {"username": "test"}, "retry": {"limit": 1},
        "sync": {"revision": commit, "prune": false, "syncOptions": options(mode)},
    }})
}

fn options(mode: Mode) -> Vec<&'static str> {
    (mode == Mode::ServerSide).then_some("ServerSideApply=true").into_iter().collect()
}

/// Whether it was compared with the repository since that was last requested.
pub(super) fn is_refreshed(application: &Value) -> bool {
    application["metadata"]["annotations"][REFRESH].is_null()
}

/// Returns the result of a commit; `None` while there is none.
pub(super) fn ended(application: &Value, commit: &str) -> Option<bool> {
    if !is_refreshed(application) {
        return None;
    }
    let status = &application["status"];
    let operation = &status["operationState"];
    let is_of_commit =
        operation["operation"]["sync"]["revision"] == commit || operation["syncResult"]["revision"] == commit;
    let has_failed = ["Failed", "Error"].iter().any(|phase| operation["phase"] == *phase);
    if is_of_commit && has_failed {
        return Some(false);
    }
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    if status["sync"]["status"] == "Unknown" && conditions.any(|condition| condition["type"] == "ComparisonError") {
        return Some(false);
    }
    let is_synced = status["sync"]["status"] == "Synced" && status["sync"]["revision"] == commit;
    match status["health"]["status"].as_str()? {
        "Healthy" if is_synced && operation["phase"] != "Running" => Some(true),
        "Degraded" if is_of_commit && operation["phase"] != "Running" => Some(false),
        _ => None,
    }
}

/// Returns the state, and the messages of all problems, as its page shows them.
pub(super) fn message(application: &Value) -> String {
    let status = &application["status"];
    let operation = &status["operationState"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut messages = BTreeSet::new();
    messages.insert(text(&operation["message"]));
    for result in operation["syncResult"]["resources"].as_array().into_iter().flatten() {
        if ["SyncFailed", "PruneFailed"].iter().any(|failed| result["status"] == *failed)
            || result["hookPhase"] == "Failed"
        {
            messages.insert(format!(
                "{} {}: {}",
                text(&result["kind"]),
                text(&result["name"]),
                text(&result["message"])
            ));
        }
    }
    for resource in status["resources"].as_array().into_iter().flatten() {
        if resource["health"]["status"].as_str().is_some_and(|health| health != "Healthy") {
            let health = &resource["health"];
            messages.insert(format!(
                "{} {} {}: {}",
                text(&resource["kind"]),
                text(&resource["name"]),
                text(&health["status"]),
                text(&health["message"])
            ));
        }
    }
    messages.extend(status["conditions"].as_array().into_iter().flatten().map(|condition| text(&condition["message"])));
    let state = format!("{} {}", text(&status["sync"]["status"]), text(&status["health"]["status"]));
    [state].into_iter().chain(messages.into_iter().filter(|message| !message.is_empty())).collect::<Vec<_>>().join("; ")
}
