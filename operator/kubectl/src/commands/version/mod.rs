//! `kubectl usnet version`: this program, the controllers and the agents, and whether they differ;
//! the engines of nodes, and Kubernetes. Pods with the same image run the same program, so only one
//! of them is queried.
//!
//! - [`mod@report`]: the report (pure); [`text`]: the report as text.

mod report;
#[cfg(test)]
mod tests;
mod text;

use crate::api::{Cluster, Scope, run_usnet};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::{Pod, Snapshot, Unread};
use crate::output::{Format, Output, render};
use k8s_openapi::api::core::v1;
use report::{Group, Surroundings, groups, report};
use std::collections::BTreeMap;
use usnet_common::api::error::message;
use usnet_common::release::Build;
use usnet_controller::cache::partial_objects::NodeStateObject;

pub(crate) async fn run(cluster: &Cluster, format: Format) -> Result<Output, Error> {
    let namespace = &cluster.usnet_namespace;
    let pods = cluster.list(Scope::Namespace(namespace), None, |pod: v1::Pod| Pod::from(pod)).await?.objects;
    let groups = groups(&pods);
    if groups.is_empty() {
        return Err(Error::NotFound {
            kind: "pod of usnet in namespace",
            name: namespace.clone(),
            suggestion: ": install usnet, or use --usnet-namespace".to_owned(),
        });
    }
    let ask = async |(component, pods): (&'static str, Vec<&Pod>)| {
        let running = pods.iter().find(|pod| pod.container(component).is_some_and(|container| container.is_running));
        match running.or(pods.first()) {
            Some(pod) => run_usnet(cluster, pod, component, &["--version"]).await,
            None => Err("there is no pod".to_owned()),
        }
    };
    let answers = futures::future::join_all(groups.iter().cloned().map(ask));
    let (answers, surroundings) = futures::join!(answers, surroundings(cluster));
    let groups = groups.into_iter().zip(answers);
    let groups = groups.map(|((component, pods), answer)| Group { component, pods, answer }).collect();
    let report = report(Build::current(), groups, surroundings);
    let exit_status = if report.versions_differ { PROBLEM } else { SUCCESS };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}

/// Reads the engines of nodes, and the versions of Kubernetes.
async fn surroundings(cluster: &Cluster) -> Surroundings {
    let mut read = Surroundings::default();
    let (states, nodes, api_server) = futures::join!(
        cluster.list(Scope::Cluster, None, |object: NodeStateObject| object),
        cluster.list(Scope::Cluster, None, |node: v1::Node| kubelet(&node)),
        cluster.client.apiserver_version(),
    );
    let mut fail = |what: &str, why| read.not_read.push(Unread { what: what.to_owned(), why });
    match api_server {
        Ok(version) => read.kubernetes.api_server = Some(version.git_version),
        Err(error) => fail("the version of Kubernetes", message(&error)),
    }
    match nodes {
        Ok(nodes) => {
            let kubelets: &mut BTreeMap<String, Vec<String>> = &mut read.kubernetes.kubelets;
            for (node, version) in nodes.objects.into_iter().flatten() {
                kubelets.entry(version).or_default().push(node);
            }
        }
        Err(error) => fail("nodes", error.sentence()),
    }
    match states {
        Ok(states) => {
            let mut snapshot = Snapshot::default();
            states.objects.iter().for_each(|state| snapshot.add_state(state));
            read.states = snapshot.reports;
        }
        Err(error) => fail("node states", error.sentence()),
    }
    read
}

/// Returns the name of a node and the version of its kubelet.
fn kubelet(node: &v1::Node) -> Option<(String, String)> {
    let version = &node.status.as_ref()?.node_info.as_ref()?.kubelet_version;
    Some((node.metadata.name.clone()?, version.clone()))
}
