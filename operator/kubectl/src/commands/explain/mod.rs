//! `kubectl usnet explain`: why a pod, a network, a node or an engine that usnet runs does not
//! work, and what to do. Each cause is a pure function of a snapshot. Objects take precedence over
//! events, which may be outdated.
//!
//! - [`subject`]: what is explained, as users name it;
//! - [`finding`]: a cause with its remedy, and the report; [`text`]: the report as text;
//! - [`pod`], [`network`], [`node`], [`engine`]: the causes of each;
//! - [`workload`]: the worst of the pods of a Deployment or the like; [`attachment`]: an interface
//!   that is added to a running pod;
//! - [`remedy`]: what to do about a reason that the agent or the controller reports.

mod attachment;
pub(crate) mod engine;
pub(crate) mod finding;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod remedy;
mod subject;
pub(crate) mod text;
mod workload;

use super::names::{find_engine, find_network, find_node};
use crate::api::{
    Cluster, Scope, read_allowed, read_definitions_for, read_engines, read_interfaces, read_node_facts, read_policies,
    read_reservations, read_usnet,
};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::model::Snapshot;
use crate::output::{Format, Output, render};
use finding::Report;
use subject::Kind;
pub(crate) use subject::Subject;

pub(crate) async fn run(cluster: &Cluster, subject: &Subject, format: Format) -> Result<Output, Error> {
    let (kind, name) = subject.object()?;
    let report = match kind {
        Kind::Network => {
            let snapshot = read_usnet(cluster).await?;
            find_network(&snapshot, name)?;
            network::report(&snapshot, name)
        }
        Kind::Node => {
            let mut snapshot = read_usnet(cluster).await?;
            find_node(&snapshot.cache.nodes, name)?;
            read_engines(cluster, &mut snapshot, false).await?;
            read_node_facts(cluster, &mut snapshot, name).await;
            node::report(&snapshot, name)
        }
        Kind::Engine => {
            let mut snapshot = read_usnet(cluster).await?;
            read_engines(cluster, &mut snapshot, true).await?;
            engine::report(&snapshot, name, find_engine(&snapshot, name)?)
        }
        _ => {
            let mut snapshot = read_allowed(cluster).await?;
            match kind {
                Kind::Pod => explain_pod(cluster, &mut snapshot, name).await?,
                Kind::Attachment => attachment::explain(cluster, &mut snapshot, name).await?,
                kind => workload::explain(cluster, &mut snapshot, kind, name).await?,
            }
        }
    };
    output(&report, format)
}

async fn explain_pod(cluster: &Cluster, snapshot: &mut Snapshot, name: &str) -> Result<Report, Error> {
    let pod = pod::read::read(cluster, snapshot, name).await?;
    read_definitions_for(cluster, snapshot, &pod.namespace).await;
    snapshot.pods = vec![pod.clone()];
    read_interfaces(cluster, snapshot, Scope::Namespace(&pod.namespace)).await;
    read_reservations(cluster, snapshot, &pod.namespace).await;
    read_policies(cluster, snapshot).await;
    Ok(pod::report(snapshot, &pod))
}

fn output(report: &Report, format: Format) -> Result<Output, Error> {
    let exit_status = if report.is_ok() { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(report, format, text::text)?, exit_status })
}
