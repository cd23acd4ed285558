//! `kubectl usnet explain`: why a pod, a network or a node does not work, and what to do. Each
//! cause is a pure function of a snapshot. Objects take precedence over events, which may be
//! outdated.
//!
//! - [`finding`]: a cause with its remedy, and the report; [`text`]: the report as text;
//! - [`pod`], [`network`], [`node`]: the causes of each;
//! - [`remedy`]: what to do about a reason that the agent or the controller reports.

pub(crate) mod finding;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod remedy;
pub(crate) mod text;

use super::names::{find_network, find_node};
use crate::api::{Cluster, read_definitions, read_usnet};
use crate::error::{Error, PROBLEM, SUCCESS};
use crate::output::{Format, Output, render};
use finding::Report;

#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Subject {
    /// Explain a pod that does not start, or that no packets reach.
    Pod {
        /// The pod, as NAME or NAMESPACE/NAME.
        name: String,
    },
    /// Explain a network that is not Ready, or that cannot be deleted.
    Network {
        /// The name of the network.
        name: String,
    },
    /// Explain a node on which networks or pods do not work.
    Node {
        /// The name of the node.
        name: String,
    },
}

pub(crate) async fn run(cluster: &Cluster, subject: &Subject, format: Format) -> Result<Output, Error> {
    let mut snapshot = read_usnet(cluster).await?;
    let report = match subject {
        Subject::Pod { name } => {
            read_definitions(cluster, &mut snapshot).await;
            let pod = pod::read::read(cluster, &mut snapshot, name).await?;
            pod::report(&snapshot, &pod)
        }
        Subject::Network { name } => {
            find_network(&snapshot, name)?;
            network::report(&snapshot, name)
        }
        Subject::Node { name } => {
            find_node(&snapshot.cache.nodes, name)?;
            node::report(&snapshot, name)
        }
    };
    output(&report, format)
}

fn output(report: &Report, format: Format) -> Result<Output, Error> {
    let exit_status = if report.is_ok() { SUCCESS } else { PROBLEM };
    Ok(Output { text: render(report, format, text::text)?, exit_status })
}
