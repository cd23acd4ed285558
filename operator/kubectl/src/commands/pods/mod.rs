//! `kubectl usnet pods NETWORK`: the pods of a network, their nodes, and whether their programs are
//! connected.
//!
//! - [`mod@report`]: the report of a snapshot, and of the records of nodes if they were requested;
//! - [`uses`]: the interfaces that pods have or are to get, from whatever requests them;
//! - [`text`]: the report as text.

pub(crate) mod report;
pub(crate) mod text;
mod uses;

pub(crate) use crate::api::read_pods;

use super::names::find_network;
use super::shared::agents;
use crate::api::{Cluster, read_allowed, read_definitions, run_on_nodes};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::snapshot::Objects;
use crate::model::{Snapshot, Unread};
use crate::output::{Format, Output, render};
use report::report;
use std::collections::BTreeSet;
use usnet_planner::model::attachment::Record;

/// Options of `kubectl usnet pods`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The name of the network.
    network: String,
    /// Also read ports, sockets and addresses with prefix lengths from the agents. This needs the
    /// permission to create pods/exec in the namespace of usnet.
    #[arg(long)]
    from_nodes: bool,
}

pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let mut snapshot = read_allowed(cluster).await?;
    if snapshot.has_read(Objects::Networks) {
        find_network(&snapshot, &options.network)?;
    }
    read_definitions(cluster, &mut snapshot).await;
    read_pods(cluster, &mut snapshot).await;
    let records = match options.from_nodes {
        true => Some(read_records(cluster, &mut snapshot, &options.network).await),
        false => None,
    };
    let report = report(&snapshot, &options.network, records.as_deref());
    let exit_status = if report.is_ok() { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(&report, format, text::text)?, exit_status })
}

/// Reads the records, without secrets, of the nodes that report attachments of a network or have
/// pods of it: reports follow pods by some seconds.
pub(crate) async fn read_records(cluster: &Cluster, snapshot: &mut Snapshot, network: &str) -> Vec<(String, Record)> {
    let of_pods = report::uses(snapshot).remove(network).unwrap_or_default().into_iter();
    let of_pods: BTreeSet<String> = of_pods.filter_map(|of_pod| of_pod.pod.node.clone()).collect();
    let has_pods = |node: &str| {
        let report = snapshot.cache.states.get(node).and_then(|state| state.report(network));
        of_pods.contains(node) || report.is_some_and(|report| report.attachments > 0)
    };
    let (agents, mut unread) = agents(snapshot, has_pods);
    let parse = |text: &str| serde_json::from_str::<Vec<Record>>(text).map_err(|error| error.to_string());
    let arguments = ["node", "attachments", "-o", "json", "--network", network];
    let mut records = Vec::new();
    for (agent, answer) in run_on_nodes(cluster, agents, "agent", &arguments, parse).await {
        let node = agent.node.clone().unwrap_or_default();
        match answer {
            Ok(of_node) => records.extend(of_node.into_iter().map(|record| (node.clone(), record))),
            Err(why) => unread.push(Unread { what: format!("the attachments of node {node}"), why }),
        }
    }
    snapshot.unread.extend(unread);
    records
}

#[cfg(test)]
mod tests;
