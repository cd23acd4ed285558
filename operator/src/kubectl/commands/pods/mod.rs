//! `kubectl usnet pods NETWORK`: who uses a network, on which nodes, and whether their programs are
//! connected.
//!
//! - [`report`]: from a snapshot, and from the records of nodes if they were requested;
//! - [`text`]: for users.

pub(crate) mod report;
pub(crate) mod text;

use super::names::find_network;
use super::shared::agents;
use crate::kubectl::api::{Cluster, Scope, each_node, optional, read_definitions, read_usnet};
use crate::kubectl::error::{Error, FINE, PROBLEM};
use crate::kubectl::model::snapshot::Part;
use crate::kubectl::model::{Gap, Pod, Snapshot};
use crate::kubectl::output::{Answer, Format, render};
use k8s_openapi::api::core::v1;
use report::report;
use std::collections::BTreeSet;
use usnet_dataplane::attachment::Record;

/// Options of `kubectl usnet pods`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The network.
    network: String,
    /// Ask the agents of its nodes as well, for ports, sockets and addresses with their prefixes.
    /// Needs the right to create pods/exec in the namespace of usnet.
    #[arg(long)]
    from_nodes: bool,
}

/// Reads and answers.
///
/// # Errors
/// When networks or node states cannot be read, or there is no such network.
pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Answer, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    find_network(&snapshot, &options.network)?;
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    let records = match options.from_nodes {
        true => Some(read_records(cluster, &mut snapshot, &options.network).await),
        false => None,
    };
    let report = report(&snapshot, &options.network, records.as_deref());
    let exit_status = if report.is_fine() { FINE } else { PROBLEM };
    Ok(Answer { text: render(&report, format, text::text)?, exit_status })
}

/// Reads pods into the snapshot: those of the chosen namespace, or of all.
pub(crate) async fn read_pods(cluster: &Cluster, snapshot: &mut Snapshot) {
    snapshot.unread.remove(&Part::Pods);
    let scope = cluster.chosen_namespace.as_deref().map_or(Scope::Cluster, Scope::Namespace);
    let listed = cluster.list(scope, None, |pod: v1::Pod| Pod::from(pod)).await;
    snapshot.pods = optional(snapshot, Part::Pods, "pods", listed);
}

/// The records of the nodes that report attachments of a network or have pods of it, without
/// secrets. A report comes some seconds after a pod.
pub(crate) async fn read_records(cluster: &Cluster, snapshot: &mut Snapshot, network: &str) -> Vec<(String, Record)> {
    let of_pods = report::uses(snapshot).remove(network).unwrap_or_default().into_iter();
    let of_pods: BTreeSet<String> = of_pods.filter_map(|(pod, _)| pod.node.clone()).collect();
    let has_pods = |node: &str| {
        let report = snapshot.cache.states.get(node).and_then(|state| state.report(network));
        of_pods.contains(node) || report.is_some_and(|report| report.attachments > 0)
    };
    let (agents, mut gaps) = agents(snapshot, has_pods);
    let parse = |text: &str| serde_json::from_str::<Vec<Record>>(text).map_err(|error| error.to_string());
    let arguments = ["node", "attachments", "-o", "json", "--network", network];
    let mut records = Vec::new();
    for (agent, answer) in each_node(cluster, agents, "agent", &arguments, parse).await {
        let node = agent.node.clone().unwrap_or_default();
        match answer {
            Ok(of_node) => records.extend(of_node.into_iter().map(|record| (node.clone(), record))),
            Err(why) => gaps.push(Gap { what: format!("the attachments of node {node}"), why }),
        }
    }
    snapshot.gaps.extend(gaps);
    records
}

#[cfg(test)]
mod tests;
