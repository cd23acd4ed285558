//! Collects the pods that select a network, and explanations of those with a problem.

use super::Collection;
use crate::commands::explain;
use crate::commands::pods::report::{interface_text, uses};
use crate::error::Error;
use crate::model::{Objects, Pod, Snapshot};
use crate::output::{line, table, tell};
use std::collections::BTreeMap;

/// The maximum number of pods that are explained: the events of each need a request.
const EXPLAINED_MAX: usize = 100;

/// Adds `pods.txt`.
pub(super) async fn collect(collection: &mut Collection<'_>, snapshot: &mut Snapshot) -> Result<(), Error> {
    if !snapshot.has_read(Objects::Pods) {
        return Ok(());
    }
    tell("explaining pods");
    let (rows, waiting) = rows(snapshot);
    let mut text = table(["POD", "NODE", "STATE", "NETWORKS"], &rows);
    if waiting.len() > EXPLAINED_MAX {
        collection.fail(
            "pods.txt",
            &format!("{} pods have a problem, of which {EXPLAINED_MAX} are explained", waiting.len()),
        );
    }
    for pod in waiting.iter().take(EXPLAINED_MAX) {
        explain::pod::read::read_events(collection.cluster, snapshot, pod).await;
        let mut report = explain::pod::report(snapshot, pod);
        report.not_read.clear();
        text.push('\n');
        text.push_str(&explain::text::text(&report));
    }
    snapshot.events.clear();
    collection.add("pods.txt", &text)
}

/// Returns all pods of networks, and those with a problem: an interface is missing, or has a
/// finding.
fn rows(snapshot: &Snapshot) -> (Vec<[String; 4]>, Vec<Pod>) {
    let mut pods: BTreeMap<String, (&Pod, Vec<String>, bool)> = BTreeMap::new();
    for (network, users) in uses(snapshot) {
        for used in users {
            let entry = pods.entry(used.pod.reference()).or_insert((used.pod, Vec::new(), false));
            entry.1.push(format!("{}={network}", interface_text(&used.interface, used.source.as_deref())));
            entry.2 |= used.attached.is_none();
        }
    }
    let row = |(name, (pod, networks, _)): (&String, &(&Pod, Vec<String>, bool))| {
        let node = pod.node.clone().unwrap_or_else(|| "-".to_owned());
        [name.clone(), node, line(pod.state()), line(&networks.join(","))]
    };
    let is_wrong = |(pod, _, waits): &&(&Pod, Vec<String>, bool)| {
        !pod.has_ended() && (*waits || !explain::pod::report(snapshot, pod).findings.is_empty())
    };
    let rows = pods.iter().map(row).collect();
    (rows, pods.values().filter(is_wrong).map(|(pod, ..)| (*pod).clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{add, add_network, attached, network_object, pod_object, snapshot};
    use serde_json::json;

    #[test]
    fn pods_that_wait_are_explained_and_those_that_work_are_listed() {
        let mut snapshot = snapshot();
        add_network(&mut snapshot, &network_object("blue", &json!({})));
        add(&mut snapshot, &pod_object("works", &attached()));
        add(&mut snapshot, &pod_object("waits", &json!({"spec": {"volumes": []}})));
        add(&mut snapshot, &pod_object("other", &json!({"metadata": {"annotations": null}})));
        let (rows, waiting) = rows(&snapshot);
        let names: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(names, ["web/waits", "web/works"]);
        assert_eq!(waiting.iter().map(Pod::reference).collect::<Vec<_>>(), ["web/waits"]);
    }
}
