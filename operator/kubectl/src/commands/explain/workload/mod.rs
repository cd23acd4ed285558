//! `kubectl usnet explain deployment NAME`, and the like: the worst of the pods of a workload.
//!
//! - [`read`] (IO): the workload, its pods, and events.

mod read;

use super::finding::{Finding, Report, Severity};
use super::pod;
use super::subject::Kind;
use crate::api::{Cluster, Scope, read_definitions_for, read_interfaces};
use crate::error::Error;
use crate::model::pod::NETWORKS;
use crate::model::snapshot::Event;
use crate::model::{Pod, Snapshot};
use crate::output::count;
use kube::core::{Selector, SelectorExt};

/// A workload: an object that creates pods.
#[derive(Debug, Clone, Default)]
struct Workload {
    /// Such as `Deployment`.
    kind: &'static str,
    namespace: String,
    name: String,
    selector: Selector,
    /// How many pods there should be; `None` if the object does not say.
    wanted: Option<i32>,
    /// Whether it has the annotation itself, which only pods may have.
    is_annotated: bool,
}

pub(super) async fn explain(
    cluster: &Cluster,
    snapshot: &mut Snapshot,
    kind: Kind,
    name: &str,
) -> Result<Report, Error> {
    let (namespace, name) = name.split_once('/').unwrap_or((cluster.namespace(), name));
    let workload = read::workload(cluster, kind, namespace, name).await?;
    read_definitions_for(cluster, snapshot, namespace).await;
    let pods = read::pods(cluster, namespace).await?;
    snapshot.pods = pods.into_iter().filter(|pod| workload.creates(pod)).collect();
    read_interfaces(cluster, snapshot, Scope::Namespace(namespace)).await;
    let events = read::events(cluster, snapshot, namespace).await;
    Ok(report(snapshot, &workload, &events))
}

impl Workload {
    fn creates(&self, pod: &Pod) -> bool {
        let is_owner = |owner: &String| match self.kind {
            "Deployment" => owner.starts_with(&format!("ReplicaSet {}-", self.name)),
            kind => *owner == format!("{kind} {}", self.name),
        };
        self.selector.matches(&pod.labels) && pod.owner.as_ref().is_some_and(is_owner)
    }

    /// Whether an event is about the workload, or about a ReplicaSet of it.
    fn is_about(&self, kind: &str, name: &str) -> bool {
        let is_replica_set = self.kind == "Deployment" && kind == "ReplicaSet";
        (kind == self.kind && name == self.name) || (is_replica_set && name.starts_with(&format!("{}-", self.name)))
    }
}

/// Explains the worst of the pods in the snapshot.
fn report(snapshot: &mut Snapshot, workload: &Workload, events: &read::Events) -> Report {
    let pods = snapshot.pods.clone();
    let mut reports = Vec::new();
    for pod in &pods {
        snapshot.events = events.of_pod(pod);
        reports.push((pod.is_ready, pod::report(snapshot, pod)));
    }
    let without_problem = reports.iter().filter(|(_, report)| report.findings.is_empty()).count();
    // Of several that are as bad, the first by name.
    let worst = reports.into_iter().min_by_key(|(is_ready, report)| {
        let severity = report.findings.iter().map(|finding| finding.severity).min();
        (severity.is_none(), severity, *is_ready, report.subject.clone())
    });
    let subject = format!("{} {}/{}", workload.kind.to_lowercase(), workload.namespace, workload.name);
    let not_created = not_created(workload, pods.len(), &events.of_workload(workload));
    let Some((_, mut worst)) = worst else {
        return Report {
            subject,
            state: "no pods".to_owned(),
            findings: not_created.or_else(|| Some(no_pods(workload))).into_iter().collect(),
            not_read: snapshot.unread.clone(),
            ..Report::default()
        };
    };
    worst.subject =
        format!("{subject}, {}, {without_problem} without a problem; {}", count(pods.len(), "pod"), worst.subject);
    worst.findings.extend(not_created);
    if let Some(found) = misplaced_annotation(workload, &pods) {
        worst.findings.retain(|finding| finding.cause != pod::NO_NETWORK);
        worst.findings.push(found);
    }
    worst.findings.sort_by_key(|finding| finding.severity);
    worst
}

/// The API server refuses pods of the workload, such as by a quota or a policy.
fn not_created(workload: &Workload, pods: usize, events: &[Event]) -> Option<Finding> {
    let wanted = usize::try_from(workload.wanted.unwrap_or(i32::MAX)).unwrap_or_default();
    let event = events.iter().rev().find(|event| event.reason == "FailedCreate").filter(|_| pods < wanted)?;
    let why = format!("not all pods could be created: {}", event.message);
    let remedy = format!("act on the message: it concerns the pod template of {} {}", workload.kind, workload.name);
    Some(Finding::new("PodsNotCreated", why, remedy))
}

/// The annotation is at the workload, and not in its pod template.
fn misplaced_annotation(workload: &Workload, pods: &[Pod]) -> Option<Finding> {
    let Workload { kind, namespace, name, .. } = workload;
    let why = format!(
        "{kind} {name} itself has the annotation {NETWORKS}, which is read of pods alone, and its pods lack it"
    );
    let remedy = format!(
        "move it to spec.template.metadata.annotations: kubectl edit -n {namespace} {} {name}",
        kind.to_lowercase()
    );
    let lack_it = pods.iter().all(|pod| pod.networks.is_none());
    (workload.is_annotated && lack_it).then(|| Finding::new("AnnotationMisplaced", why, remedy))
}

fn no_pods(workload: &Workload) -> Finding {
    let Workload { kind, namespace, name, .. } = workload;
    let (why, remedy) = match workload.wanted {
        Some(0) => (
            format!("{kind} {name} is to have no pods"),
            format!(
                "kubectl scale -n {namespace} {} {name} --replicas=1; a DaemonSet has pods on the nodes that its nodeSelector selects",
                kind.to_lowercase()
            ),
        ),
        _ => (
            format!("{kind} {name} has no pods, and no event says why"),
            format!("kubectl describe -n {namespace} {} {name}", kind.to_lowercase()),
        ),
    };
    Finding { severity: Severity::Error, ..Finding::new("NoPods", why, remedy) }
}

#[cfg(test)]
mod tests;
